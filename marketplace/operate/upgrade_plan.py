"""The plan of an upgrade: migrations that would run, what they do, and about how long they take."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass

from django.db import connections, migrations
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

# Measured on two busy cores (lab/benchmarks.md): rather too slow than too fast.
SECONDS_EACH = 0.1  # of a migration, with its transaction
BYTES_A_SECOND = 50_000_000  # that are read to check or index them
ROWS_A_SECOND = 2_000  # that Python goes through
# These look at each row that there is; a new column does not, since its default is noted once.
_READING = (
    migrations.AddConstraint,
    migrations.AddIndex,
    migrations.AlterField,
    migrations.AlterUniqueTogether,
)
_OF_FUNCTIONS = re.compile(r"\s*(CREATE|DROP|ALTER)\s+(OR\s+REPLACE\s+)?(FUNCTION|TRIGGER)\b", re.I)
_SIZES = """
SELECT c.relname, greatest(c.reltuples, 0)::bigint, pg_total_relation_size(c.oid)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND n.nspname = current_schema()
"""
Sizes = dict[str, tuple[int, int]]  # rows and bytes of each table


@dataclass(frozen=True, slots=True)
class PlannedMigration:
    """Migration that would run: what it does, and its seconds by a rough estimate."""

    name: str
    actions: tuple[str, ...]
    seconds: float


def plan_upgrade(alias: str = "default") -> list[PlannedMigration]:
    """Return the migrations that would run. Nothing is changed."""
    executor = MigrationExecutor(connections[alias])
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    graph = executor.loader.graph
    nodes = [key for key in executor.loader.applied_migrations if key in graph.nodes]
    state = executor.loader.project_state(nodes) if nodes else ProjectState()
    with connections[alias].cursor() as cursor:
        cursor.execute(_SIZES)
        sizes = {name: (rows, size) for name, rows, size in cursor.fetchall()}
    return [_planned(migration, state, sizes) for migration, _backwards in plan]


def describe_upgrade(plan: list[PlannedMigration]) -> Iterator[str]:
    """Yield lines for the operator."""
    if not plan:
        yield "The database is up to date: no migration would run."
        return
    seconds = sum(step.seconds for step in plan)
    count = "1 migration" if len(plan) == 1 else f"{len(plan)} migrations"
    yield f"{count} to run, in about {_duration(seconds)}; the running version serves meanwhile:"
    for step in plan:
        yield f"  {step.name} ({_duration(step.seconds)}): {'; '.join(step.actions)}"


def _duration(seconds: float) -> str:
    if seconds < 1:
        return "a second"
    return f"{round(seconds)} s" if seconds < 120 else f"{round(seconds / 60)} minutes"


def _planned(migration: Migration, state: ProjectState, sizes: Sizes) -> PlannedMigration:
    seconds = SECONDS_EACH
    for operation in migration.operations:
        seconds += _seconds_of(operation, migration.app_label, state, sizes)
        operation.state_forwards(migration.app_label, state)
    name = f"{migration.app_label}.{migration.name}"
    return PlannedMigration(name, tuple(_actions(migration)), seconds)


def _actions(migration: Migration) -> Iterator[str]:
    """Yield what a migration does: by its own words, if it has some, and by its operations."""
    module = inspect.getmodule(type(migration))
    words = inspect.getdoc(module) or "" if ".migrations." in type(migration).__module__ else ""
    if words:
        yield words.partition("\n")[0].rstrip(".")
    described = [
        operation.describe()
        for operation in migration.operations
        if not isinstance(operation, migrations.RunSQL | migrations.RunPython)
    ]
    yield from dict.fromkeys(described)
    if not words and not described:
        yield "changes rows or functions"


def _seconds_of(operation: Operation, app: str, state: ProjectState, sizes: Sizes) -> float:
    """Estimate an operation by the size of the tables as they are."""
    if isinstance(operation, migrations.RunPython):
        rows = [count for table, (count, _bytes) in sizes.items() if table.startswith(f"{app}_")]
        return max(rows, default=0) / ROWS_A_SECOND
    if isinstance(operation, migrations.RunSQL):
        text = str(operation.sql)
        words = set() if _OF_FUNCTIONS.match(text) else set(re.findall(r"\w+", text))
        return sum(sizes[table][1] for table in words & sizes.keys()) / BYTES_A_SECOND
    is_reading = isinstance(operation, _READING) or (
        isinstance(operation, migrations.AddField)
        and (
            operation.field.is_relation
            or operation.field.unique
            or bool(getattr(operation.field, "db_index", False))
        )
    )
    model = getattr(operation, "model_name", "")
    if not is_reading or (app, model.lower()) not in state.models:
        return 0.0
    table = state.models[app, model.lower()].options.get("db_table") or f"{app}_{model.lower()}"
    return sizes.get(table, (0, 0))[1] / BYTES_A_SECOND
