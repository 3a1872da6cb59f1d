"""Upgrades say what they do before they start, on databases that are random steps behind."""

import random
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection, migrations, models
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.operations.base import Operation
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ModelState, ProjectState

from marketplace.management.commands.migrate import FIRST_MIGRATIONS
from marketplace.operate.roles.owner import as_owner
from marketplace.operate.upgrade_plan import (
    SECONDS_EACH,
    Sizes,
    _planned,
    describe_upgrade,
    plan_upgrade,
)

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
