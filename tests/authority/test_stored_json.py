"""Rows that somebody wrote past the application: none of them hides another in a list."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client

from acl.audit.recorder import record
from acl.models import AuditEntry
from acl.platform.stored_json import StoredJSONField
from tests.access.people import People, invite
from tests.access.test_audit import commit
from tests.factories import CapabilityFactory, UserFactory
from tests.pages.conftest import _folder_of_static_files, _plain_static_files  # noqa: F401

pytestmark = pytest.mark.django_db

# Each is a value that Postgres takes for jsonb.
BAD = [
    "1e5000",
    '{"a": 1e400, "b": 1.5e308}',
    '{"a": ' + "9" * 400 + ".5}",
    '{"a": ' + "9" * 5_000 + "}",
    '"text"',
    "5",
    "null",
    '{"a":' * 2_000 + "1" + "}" * 2_000,
    "[" * 2_000 + "]" * 2_000,
    "[null, 5, {}]",
    '{"a": null, "before": 5, "after": []}',
]


@pytest.fixture
def people() -> People:
    return invite()


@pytest.fixture
def root(people: People) -> User:
    return UserFactory.create(
        username="root", is_staff=True, is_superuser=True, groups=[people.support]
    )


@pytest.fixture
def client(root: User) -> Client:
    client = Client()
    client.force_login(root)
    return client


def overwrite(table: str, column: str, value: str, where: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} SET {column} = %s::jsonb WHERE {where}",  # noqa: S608 - our own names
            [value],
        )


def test_every_json_column_is_one_that_can_be_read() -> None:
    from django.apps import apps
    from django.db.models import JSONField

    plain = {
        f"{model._meta.label}.{field.name}"
        for app in ("acl", "catalog", "discovery", "marketplace")
        for model in apps.get_app_config(app).get_models()
        for field in model._meta.fields
        if isinstance(field, JSONField) and not isinstance(field, StoredJSONField)
    }

    assert plain == set()
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)


@pytest.mark.parametrize("bad", BAD)
def test_an_audit_entry_that_cannot_be_displayed_hides_no_other(client: Client, bad: str) -> None:
    record(by=None, action="x", target="good-one", details={"name": "fine"})
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO acl_auditentry (at, action, target, details, by_name, actor_kind,"
            " credential, key_name, subject_name, request_id, key_prefix, address)"
            " VALUES (now(), 'x', 'bad-one', %s::jsonb, '', '', '', '', '', '', '', '')",
            [bad],
        )
    commit()

    page = client.get("/audit/").content.decode()
    lines = b"".join(client.get("/audit/export.jsonl")).decode().splitlines()
    table = b"".join(client.get("/audit/export.csv")).decode()

    assert "good-one" in page
    assert "bad-one" in page
    assert any("good-one" in line for line in lines)
    assert "bad-one" in table
    assert AuditEntry.objects.filter(target="bad-one").exists()


COLUMNS = [
    "input_schema", "output_schema", "examples", "declared_edges", "annotations", "source_ref",
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD)
def test_a_capability_that_cannot_be_read_hides_no_other(
    client: Client, people: People, bad: str
) -> None:
    broken = CapabilityFactory.create(integration=people.gmail, action="broken")
    for column in COLUMNS:
        if bad != "null" or column.endswith("schema"):
            overwrite("catalog_capability", column, bad, f"id = {broken.pk}")

    ask: list[Callable[[], int]] = [
        lambda: client.get("/tools/").status_code,
        lambda: client.get("/admin/catalog/capability/").status_code,
        lambda: client.get("/api/v1/capabilities").status_code,
        lambda: client.get("/api/v1/capabilities?detail=full_schema").status_code,
    ]

    assert [one() for one in ask] == [200] * len(ask)


@pytest.mark.parametrize("bad", BAD)
def test_an_integration_that_cannot_be_read_hides_no_other(
    client: Client, people: People, bad: str
) -> None:
    for column in ("source_ref", "package"):
        if bad != "null":
            overwrite("catalog_integration", column, bad, f"id = {people.wiki.pk}")

    pages = ["/integrations/", "/admin/catalog/integration/"]

    assert [client.get(page).status_code for page in pages] == [200] * len(pages)
