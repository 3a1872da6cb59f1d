"""`manage.py prepare_database` on a server with a superuser."""

import os
import subprocess
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import psycopg
import pytest
from django.core.management import CommandError, call_command
from pytest_django import DjangoDbBlocker, Settings

from marketplace.operate.embedded.postgres import EmbeddedPostgres, postgres_programs
from tests.databases import connected_to_server

pytestmark = pytest.mark.processes


@pytest.fixture
def server(data: Path, django_db_blocker: DjangoDbBlocker) -> Iterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(data, durable=False, keep_superuser=True)
    server.start()
    with django_db_blocker.unblock():
        yield server
    server.stop()


def addresses(server: EmbeddedPostgres) -> dict[str, str]:
    """Addresses of an operator with custom names of roles and database."""
    place = server.url("shelf").partition("@")[2]
    return {
        "DATABASE_URL": f"postgresql://shop:sesame@{place}",
        "DATABASE_OWNER_URL": f"postgresql://shop_keeper:open@{place}",
        "DATABASE_SUPERUSER_URL": server.superuser_url("postgres"),
    }


def prepare(settings: Settings, server: EmbeddedPostgres, *words: str) -> str:
    """Run the command in this process, as migrations: a new one takes seconds, for no more."""
    for name, address in addresses(server).items():
        setattr(settings, name, address)
    told = StringIO()
    call_command("prepare_database", *words, stdout=told)
    return told.getvalue()


def migrate(server: EmbeddedPostgres, app: str) -> None:
    given = addresses(server)
    with connected_to_server(given["DATABASE_URL"], given["DATABASE_OWNER_URL"]):
        call_command("migrate", app, interactive=False, verbosity=0)


def check_roles(server: EmbeddedPostgres) -> None:
    """Migrate the app that makes the third role's tables, and check who may do what with them.

    All apps together take a quarter of a minute, and `test_up.py` migrates them.
    """
    given = addresses(server)
    migrate(server, "acl")
    with psycopg.connect(given["DATABASE_URL"], autocommit=True) as app:
        app.execute("INSERT INTO auth_group (name) VALUES ('made')")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            app.execute("CREATE TABLE own (id bigint)")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            app.execute("UPDATE acl_audithead SET number = 0")
    with psycopg.connect(given["DATABASE_OWNER_URL"]) as owner:
        found = owner.execute(
            "SELECT pg_get_userbyid(relowner) FROM pg_class WHERE relname = 'acl_auditentry'"
        ).fetchone()
        vector = owner.execute("SELECT '[3, 4]'::vector <-> '[0, 0]'").fetchone()
    assert found == ("pegboard_audit",)
    assert vector == (5.0,)  # the extension is the superuser's to create


def test_roles_and_database_are_made_and_making_them_again_changes_nothing(
    server: EmbeddedPostgres, settings: Settings
) -> None:
    first = prepare(settings, server)
    second = prepare(settings, server)

    assert first == second
    assert "shop_keeper owns the database shelf, and shop works with it." in first
    check_roles(server)


def test_what_is_printed_does_the_same_in_psql(
    server: EmbeddedPostgres, settings: Settings
) -> None:
    script = prepare(settings, server, "--print")

    assert "sesame" not in script
    program = postgres_programs() / "psql"
    if not program.exists():
        pytest.skip("psql is not part of the package")
    passwords = "ALTER ROLE shop PASSWORD 'sesame'; ALTER ROLE shop_keeper PASSWORD 'open';"
    text = script[: script.index("\\password")] + passwords
    for _ in range(2):
        subprocess.run(  # noqa: S603 - Postgres's own
            [program, "-v", "ON_ERROR_STOP=1", "-q", server.superuser_url("postgres")],
            input=text,
            text=True,
            check=True,
            env={"PATH": os.defpath},
        )
    check_roles(server)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"DATABASE_SUPERUSER_URL": ""}, "DATABASE_SUPERUSER_URL is not set"),
        ({"DATABASE_OWNER_URL": ""}, "DATABASE_OWNER_URL is not set"),
        ({"DATABASE_OWNER_URL": "postgresql://shop:x@db/shelf"}, "need two roles"),
        ({"DATABASE_OWNER_URL": "postgresql://keeper:x@db/other"}, "one database"),
        ({"DATABASE_OWNER_URL": "postgresql://keeper@db/shelf"}, "need passwords"),
    ],
)
def test_what_is_missing_is_said(
    settings: Settings, data: Path, given: dict[str, str], told: str
) -> None:
    for name, address in (addresses(EmbeddedPostgres(data)) | given).items():
        setattr(settings, name, address)

    with pytest.raises(CommandError, match=told):
        call_command("prepare_database")
