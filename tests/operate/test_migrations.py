"""REL-12: migrations run backwards and forwards with rows in all tables."""

import re
import subprocess

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from marketplace.management.commands.migrate import FIRST_MIGRATIONS
from marketplace.operate.embedded.postgres import postgres_programs
from marketplace.operate.roles.grants import grant_rights
from marketplace.operate.roles.owner import as_owner
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
