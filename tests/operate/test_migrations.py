"""Migrations and upgrades: said before they start, and run back and forth with rows (REL-12)."""

import random
import re
import subprocess
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, migrations, models, transaction
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.operations.base import Operation
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ModelState, ProjectState

from marketplace.management.commands.migrate import FIRST_MIGRATIONS
from marketplace.operate.embedded.postgres import postgres_programs
from marketplace.operate.roles.grants import grant_rights
from marketplace.operate.roles.owner import as_owner
from marketplace.operate.upgrade_plan import (
    SECONDS_EACH,
    Sizes,
    _planned,
    describe_upgrade,
    plan_upgrade,
)
from tests.databases import superuser_conninfo
from tests.hostile.world import build

OURS = ("marketplace", "discovery", "catalog", "acl")
# From nothing to the end they go once in each run, for the tests' own database.
FIRST: list[tuple[str, str | None]] = [(app, FIRST_MIGRATIONS[app]) for app in OURS]
LASTING = ("auth_user", "auth_group", "acl_auditentry", "acl_apikey", "catalog_capability")


# Four times all migrations take minutes of CPU time on a busy machine.
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("own_database")
def test_every_step_goes_back_and_forth_on_rows() -> None:
    build()
    before, latest = _rows(), _schema()

    with as_owner():
        _migrate(FIRST)  # step by step, the latest first
        behind = _rows()
        with transaction.atomic():
            _migrate([(app, None) for app in OURS])
            nothing = _rows()
            _migrate(FIRST)
            again = _rows()
            transaction.set_rollback(True)  # the rows are back
        call_command("migrate", verbosity=0)  # as an upgrade from 0.2.0
        after = _rows()
        grant_rights()

    assert all(before[table] == behind[table] > 0 for table in LASTING)
    assert all(behind[table] == after[table] > 0 for table in LASTING)
    assert not {table for table in behind if after[table] < behind[table]}
    assert not {table for table in nothing if table.partition("_")[0] in OURS}
    assert again.keys() == behind.keys()
    assert _rows().keys() == before.keys()
    assert _schema() == latest


def _migrate(to: list[tuple[str, str | None]]) -> None:
    MigrationExecutor(connection).migrate(to)


@pytest.mark.usefixtures("own_database")
@pytest.mark.parametrize("app", OURS)
def test_database_from_before_squashing_is_refused_and_left_alone(app: str) -> None:
    with as_owner():
        steps = MigrationRecorder(connection).migration_qs
        steps.filter(app=app, name=FIRST_MIGRATIONS[app]).update(name="0001_initial")
    before, schema = _rows(), _schema()

    with pytest.raises(CommandError, match=r"from before 0\.2\.0.* Nothing was changed"):
        call_command("migrate", verbosity=0)

    assert (_rows(), _schema()) == (before, schema)


def _schema() -> list[list[str]]:
    """Return the statements that make the database, whatever the order of a table's columns."""
    dump = [str(postgres_programs() / "pg_dump"), "--schema-only", "--dbname", _conninfo()]
    told = subprocess.run(dump, check=True, capture_output=True, text=True, timeout=300).stdout  # noqa: S603
    statements = (_plain(statement).splitlines() for statement in told.split(";\n"))
    return sorted(sorted(line.rstrip(",") for line in lines if _says(line)) for lines in statements)


def _plain(statement: str) -> str:
    """Remove parentheses and casts: Postgres adds some when it reads its own dump."""
    return re.sub(r"::(character varying|text)(\[\])?|[()]", "", statement)


def _says(line: str) -> bool:
    return bool(line) and not line.startswith(("--", "\\"))  # restrict has a key of its own


def _conninfo() -> str:
    return superuser_conninfo(connection.settings_dict["NAME"])


def _rows() -> dict[str, int]:
    counts = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT count(*) FROM "{table}"')  # noqa: S608 - read from the database
            counts[table] = cursor.fetchone()[0]
    return counts


SIZES: Sizes = {"shop_order": (4_000_000, 12_000_000_000), "shop_item": (10, 8192)}


def applied() -> set[tuple[str, str]]:
    return set(MigrationRecorder(connection).applied_migrations())


def check() -> tuple[str, int]:
    printed = StringIO()
    with pytest.raises(SystemExit) as end:
        call_command("set_up", "--check", stdout=printed)
    return printed.getvalue(), int(str(end.value.code))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.usefixtures("own_database")
def test_check_names_what_would_run_and_changes_nothing(seed: int) -> None:
    chance = random.Random(seed)
    app = chance.choice(["acl", "discovery", "marketplace"])
    steps = sorted(name for label, name in applied() if label == app)
    target = chance.choice([name for name in steps[-3:-1] if name >= FIRST_MIGRATIONS[app]])
    latest = applied()
    with as_owner():
        MigrationExecutor(connection).migrate([(app, target)])
    behind = applied()

    told, status = check()

    assert status == 1
    assert applied() == behind
    names = [line.split()[0] for line in told.splitlines()[1:]]
    assert set(names) == {f"{label}.{name}" for label, name in latest - behind}
    assert all(step.actions and step.seconds > 0 for step in plan_upgrade())

    ran = StringIO()
    call_command("set_up", "--only=database", stdout=ran)
    assert told.splitlines()[0] in ran.getvalue()  # said before it starts
    assert ran.getvalue().index(names[0]) < ran.getvalue().index("Database tables")
    assert applied() == latest
    assert check() == ("The database is up to date: no migration would run.\n", 0)


def migration_of(*operations: Operation) -> Migration:
    class More(Migration):
        pass

    More.operations = list(operations)
    return More("0002_more", "shop")


def planned(*operations: Operation) -> float:
    order = models.AutoField(primary_key=True)
    state = ProjectState()
    for name in ("Order", "Item"):
        state.add_model(ModelState("shop", name, [("id", order.clone())]))
    return _planned(migration_of(*operations), state, SIZES).seconds - SECONDS_EACH


@pytest.mark.parametrize(
    ("operation", "least", "most"),
    [
        (migrations.AddField("order", "note", models.TextField(default="")), 0, 0.001),
        (migrations.AddField("order", "code", models.TextField(unique=True)), 60, 600),
        (migrations.AlterField("order", "id", models.BigAutoField(primary_key=True)), 60, 600),
        (migrations.AddIndex("order", models.Index(fields=["id"], name="i")), 60, 600),
        (migrations.AddIndex("item", models.Index(fields=["id"], name="i")), 0, 0.1),
        (migrations.CreateModel("New", [("id", models.AutoField(primary_key=True))]), 0, 0.001),
        (migrations.RunPython(migrations.RunPython.noop), 600, 6000),
        (migrations.RunSQL("UPDATE shop_order SET x = 1"), 60, 600),
        (migrations.RunSQL("CREATE FUNCTION f() AS $$ UPDATE shop_order $$"), 0, 0.001),
    ],
)
def test_estimate_follows_the_size_of_what_is_read(
    operation: Operation, least: float, most: float
) -> None:
    assert least <= planned(operation) <= most


def test_minutes_are_told_as_minutes() -> None:
    state = ProjectState()
    state.add_model(ModelState("shop", "Order", [("id", models.AutoField(primary_key=True))]))
    migration = migration_of(migrations.AddIndex("order", models.Index(fields=["id"], name="i")))

    [head, line] = describe_upgrade([_planned(migration, state, SIZES)])

    assert head.startswith("1 migration to run, in about 4 minutes; the running version serves")
    assert line.startswith("  shop.0002_more (4 minutes): Create index i on field(s) id")
