"""Bodies that are not strict JSON are refused at each edge; rows written past them hide nothing."""

import json
import shutil
from collections.abc import Callable
from io import StringIO
from pathlib import Path
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
from discovery.models import Call, Outcome, Turn
from tests.access.audit_log import commit
from tests.access.people import People
from tests.factories import (
    CapabilityFactory,
    IntegrationFactory,
    ListingFactory,
    SourceFactory,
    UserFactory,
)
from tests.mcp.asking import error, send
from tests.sessions import session_of
from tests.web.conftest import new_key

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
def root(people: People) -> User:
    return UserFactory.create(
        username="root", is_staff=True, is_superuser=True, groups=[people.support]
    )


@pytest.fixture
def client(root: User) -> Client:
    return session_of(root)


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


def test_audit_entries_that_cannot_be_displayed_hide_no_other(client: Client) -> None:
    record(by=None, action="x", target="good-one", details={"name": "fine"})
    names = [f"bad-{at}-" for at in range(len(BAD))]
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO acl_auditentry (at, action, target, details, by_name, actor_kind,"
            " credential, key_name, subject_name, request_id, key_prefix, address)"
            " VALUES (now(), 'x', %s, %s::jsonb, '', '', '', '', '', '', '', '')",
            list(zip(names, BAD, strict=True)),
        )
    commit()

    page = client.get("/audit/").content.decode()
    lines = b"".join(client.get("/audit/export.jsonl")).decode().splitlines()
    table = b"".join(client.get("/audit/export.csv")).decode()

    assert any("good-one" in line for line in lines)
    for name in ("good-one", *names):
        assert name in page
        assert name in table
    assert AuditEntry.objects.filter(target__in=names).count() == len(BAD)


COLUMNS = [
    "input_schema", "output_schema", "examples", "declared_edges", "annotations", "source_ref",
]  # fmt: skip


def test_capabilities_that_cannot_be_read_hide_no_other(client: Client, people: People) -> None:
    for at, bad in enumerate(BAD):
        broken = CapabilityFactory.create(integration=people.gmail, action=f"broken_{at}")
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


def test_integrations_that_cannot_be_read_hide_no_other(client: Client) -> None:
    for bad in BAD:
        broken = IntegrationFactory.create()
        for column in ("source_ref", "package"):
            if bad != "null":
                overwrite("catalog_integration", column, bad, f"id = {broken.pk}")

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


def test_rows_that_cannot_be_read_hide_no_other_and_can_be_removed(
    client: Client, people: People, root: User
) -> None:
    rows = some_of_each(people, root)
    failing = []
    for table, columns, pages in LISTED:
        for broken, bad in zip(rows[table], BAD, strict=True):
            for column in columns:
                if bad != "null":
                    overwrite(table, column, bad, f"id = '{broken.pk}'")
        failing += [
            (page, answer.status_code)
            for page in pages
            if (answer := client.get(page)).status_code != 200
        ]
    assert failing == []

    for broken in (one for each in reversed(rows.values()) for one in each):
        found = type(broken)._default_manager
        found.get(pk=broken.pk).delete()
        assert not found.filter(pk=broken.pk).exists()


def some_of_each(people: People, root: User) -> dict[str, list[Any]]:
    """Return a row of each table for each bad value, beside a sound one."""
    found: dict[str, list[Any]] = {name: [] for name, _, _ in LISTED}
    told = [{"name": f"name{at}", "description": "x"} for at in range(len(BAD) + 1)]
    store_definitions(integration=people.gmail, tools=told, by=None, complete=False)
    found["catalog_definition"] = list(Definition.objects.filter(name__startswith="name"))[1:]
    for at in range(len(BAD) + 1):
        source = SourceFactory.create(slug=f"slug-{at}")
        listing = ListingFactory.create(slug=f"slug-{at}", source=source)
        turn = Turn.objects.create(
            user=root, group=people.support, state="completed", ended_at=Now()
        )
        about: dict[str, Any] = {"group": people.support, "at": Now(), "score": 0}
        outcome = Outcome.objects.create(turn=turn, status="failed", source="reported", **about)
        if at:
            found["marketplace_listing"].append(listing)
            found["marketplace_source"].append(source)
            found["discovery_turn"].append(turn)
            found["discovery_outcome"].append(outcome)
    return found


SAMPLES = Path(__file__).parents[1] / "formats" / "samples"


@pytest.fixture
def key(people: People) -> str:
    return new_key(
        people.support, "select", "discover", "execute", owner=people.alice, acts_for_users=False
    )


VALUES = [
    ("1e999", "1e999 is too large (line 2, column"),
    ("-1e400", "-1e400 is too large (line 2, column"),
    ("NaN", "NaN is no JSON number (line 2, column"),
    ("Infinity", "Infinity is no JSON number (line 2, column"),
    ("9" * 5_000, "a number of more than 300 digits (line 2, column"),
    ("1e-999", "1e-999 is too small (line 2, column"),
    ('{"b":1,"b":2}', "the key 'b' occurs twice"),
    ("[" * 40 + "]" * 40, "nested more than 32 deep (line 2, column"),
    ('"\\u0000"', "a NUL character or half a surrogate pair"),
    ('"\\ud800"', "a NUL character or half a surrogate pair"),
]
BODIES = {
    "execute": '{{"name": "gmail__send_email", "arguments":\n {{"to": {0}}}}}',
    "meta/execute_tool": '{{"arguments":\n {{"name": "x", "arguments": {{"to": {0}}}}}}}',
    "select": '{{"message":\n {0}}}',
    "discover": '{{"message":\n {0}}}',
}


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize(("value", "reason"), VALUES)
def test_a_body_is_refused_with_its_place_and_nothing_is_stored(
    key: str, path: str, value: str, reason: str
) -> None:
    answer = Client(headers={"Authorization": f"Bearer {key}"}).post(
        f"/api/v1/{path}", BODIES[path].format(value), "application/json"
    )

    assert answer.status_code == 400
    assert reason in answer.json()["detail"]
    assert not Call.objects.exists()


@pytest.mark.parametrize("value", [value for value, _ in VALUES])
def test_a_message_of_mcp_is_refused_as_one(key: str, value: str) -> None:
    body = (
        '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "execute_tool", '
        f'"arguments": {{"name": "gmail__send_email", "arguments": {{"to": {value}}}}}}}}}'
    )

    assert error(send(key, body)) == (400, -32700)
    assert not Call.objects.exists()


@pytest.mark.parametrize("kind", sorted(one.name for one in SAMPLES.iterdir()))
def test_an_import_survives_nul_characters_and_half_surrogates_everywhere(
    tmp_path: Path, kind: str
) -> None:
    """In all texts of all samples, what Postgres rejects is removed, or the entry is refused."""
    folder = tmp_path / kind
    shutil.copytree(SAMPLES / kind, folder)
    for file in folder.rglob("*.json*"):
        spoil(file)

    call_command("import_catalog", str(folder), "--json", stdout=StringIO())


def spoil(file: Path) -> None:
    lines = (
        file.read_text("utf-8").splitlines()
        if file.suffix == ".jsonl"
        else [file.read_text("utf-8")]
    )
    try:
        spoiled = [json.dumps(_spoiled(json.loads(line))) for line in lines if line.strip()]
    except ValueError:
        return  # a sample that is not JSON on purpose
    file.write_text("\n".join(spoiled))


def _spoiled(value: Any) -> Any:
    if isinstance(value, str):
        return f"{value}\x00\ud800"
    if isinstance(value, dict):
        return {f"{name}": _spoiled(part) for name, part in value.items()} | {"x\x00\udfff": "\x00"}
    if isinstance(value, list):
        return [_spoiled(part) for part in value]
    return value
