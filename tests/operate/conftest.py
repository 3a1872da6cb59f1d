import subprocess
from collections.abc import Iterator

import pytest
from django.db import connection, connections
from pytest_django.plugin import DjangoDbBlocker

from marketplace.operate.backups import databases
from marketplace.operate.embedded.postgres import postgres_programs
from marketplace.operate.roles.grants import grant_rights
from marketplace.operate.roles.owner import as_owner
from tests.databases import superuser_conninfo
from tests.operate.deployment import Deployment, deployed


@pytest.fixture(scope="module")
def deployment(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Deployment]:
    """A deployment shared by the tests of a file, which run in order, on the tests' tables."""
    with django_db_blocker.unblock(), deployed(_copied) as running:
        yield running


@pytest.fixture
def own_database(transactional_db: None, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """A database of the test's own, copied from the tests'; Django uses it."""
    with django_db_blocker.unblock():
        template = databases.current_database()
        own = f"{template}_own"
        connections.close_all()
        with as_owner(), databases._administrative_cursor() as cursor:
            databases.drop_database(own)
            cursor.execute(databases._END_SESSIONS, [[template]])
            cursor.execute(databases._with_names("CREATE DATABASE {} TEMPLATE {}", own, template))
        with databases.connected_to(own):
            yield own
        with as_owner():
            for name in _named_like(own):
                databases.drop_database(name)
        connections.close_all()


def _named_like(own: str) -> list[str]:
    with databases._administrative_cursor() as cursor:
        found = cursor.execute(
            "SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [own]
        )
        return [name for (name,) in found]


def _copied(deployment: Deployment) -> None:
    deployment.postgres.create_database()
    source = superuser_conninfo(str(connection.settings_dict["NAME"]))
    dump = subprocess.run(  # noqa: S603
        [postgres_programs() / "pg_dump", f"--dbname={source}", "--format=custom"],
        check=True,
        stdout=subprocess.PIPE,
    )
    target = [f"--dbname={deployment.postgres.owner_url()}", "--no-owner", "--no-privileges"]
    subprocess.run(  # noqa: S603
        [postgres_programs() / "pg_restore", *target, "--no-comments"],
        check=True,
        input=dump.stdout,
    )
    with deployment.connected(), as_owner():
        grant_rights()
