"""Rows written past the application: none hides others in a list."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.db.models.functions import Now
from django.test import Client

from acl.audit.recorder import record
from acl.models import AuditEntry
from acl.platform.stored_json import StoredJSONField
from catalog.models import Definition
from catalog.registration.definition_comparison import store_definitions
from discovery.models import Outcome, Turn
from tests.access.audit_log import commit
from tests.access.people import People, invite
from tests.factories import CapabilityFactory, ListingFactory, SourceFactory, UserFactory
from tests.pages.conftest import _folder_of_static_files, _plain_static_files  # noqa: F401

pytestmark = pytest.mark.django_db

# Values that Postgres accepts as jsonb.
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


# Columns of rows in lists, with the pages that list a broken row beside a sound one.
LISTED: list[tuple[str, tuple[str, ...], list[str]]] = [
    (
        "marketplace_listing",
        ("tools", "needs", "details"),
        ["/marketplace/", "/admin/marketplace/listing/", "/api/v1/listings?user=root"],
    ),
    (
        "marketplace_source",
        ("report",),
        ["/marketplace/sources/", "/admin/marketplace/source/", "/api/v1/sources"],
    ),
    (
        "catalog_definition",
        ("findings",),
        ["/integrations/gmail/review/", "/api/v1/integrations/gmail/review"],
    ),
    (
        "discovery_turn",
        ("plan", "selected", "degraded"),
        ["/insights/", "/admin/discovery/turn/", "/api/v1/figures"],
    ),
    (
        "discovery_outcome",
        ("called",),
        ["/insights/outcomes/", "/admin/discovery/outcome/", "/api/v1/outcomes/windows"],
    ),
]


@pytest.mark.parametrize(("table", "columns", "pages"), LISTED, ids=[one[0] for one in LISTED])
def test_a_row_that_cannot_be_read_hides_no_other_and_can_be_removed(
    client: Client, people: People, root: User, table: str, columns: tuple[str, ...], pages: Any
) -> None:
    broken = two_of_each(people, root)[table]
    failing = []
    for bad in BAD:
        for column in columns:
            if bad != "null":
                overwrite(table, column, bad, f"id = '{broken.pk}'")
        failing += [
            (bad[:20], page, answer.status_code)
            for page in pages
            if (answer := client.get(page)).status_code != 200
        ]

    type(broken)._default_manager.get(pk=broken.pk).delete()

    assert failing == []
    assert not type(broken)._default_manager.filter(pk=broken.pk).exists()


def two_of_each(people: People, root: User) -> dict[str, Any]:
    """Return the broken row of each table, each beside a sound one."""
    found: dict[str, Any] = {}
    told = [{"name": name, "description": name} for name in ("one", "two")]
    store_definitions(integration=people.gmail, tools=told, by=None, complete=False)
    for slug in ("good", "broken"):
        source = SourceFactory.create(slug=slug)
        listing = ListingFactory.create(slug=slug, source=source)
        turn = Turn.objects.create(
            user=root, group=people.support, state="completed", ended_at=Now()
        )
        about: dict[str, Any] = {"group": people.support, "at": Now(), "score": 0}
        outcome = Outcome.objects.create(turn=turn, status="failed", source="reported", **about)
        found = {
            "marketplace_listing": listing, "marketplace_source": source,
            "discovery_turn": turn, "discovery_outcome": outcome,
            "catalog_definition": Definition.objects.filter(integration=people.gmail).last(),
        }  # fmt: skip
    return found
