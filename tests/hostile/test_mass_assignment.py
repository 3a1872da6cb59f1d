"""Extra fields in a request change nothing (MASS-1).

Each write is made twice on the same world: as intended, and with the names of all columns and some
well-known ones. Both must leave identical rows.
"""

import re
from collections import defaultdict
from functools import cache
from typing import Any
from unittest.mock import patch

import pytest
import time_machine
from django.apps import apps
from django.db import models
from django.db.models.functions import Now
from django.http import QueryDict
from django.test import Client
from django.utils import timezone
from drf_spectacular.generators import SchemaGenerator

from tests.examples import EACH_OF_ALIKE, some_of
from tests.hostile.asking import parts_of, send
from tests.hostile.forms import Form, post_forms
from tests.hostile.places import CHANGE, EVERY, ONLY_SHOWN, Place, is_of_table, places_where
from tests.hostile.routes import ADMIN_PAGE, DJANGO_ADMIN, Row
from tests.hostile.tables import Contents, changed, contents, differing, undone
from tests.hostile.urlconf import path_of
from tests.hostile.world import World

pytestmark = pytest.mark.usefixtures("logs_are_short")
APPS = ("acl", "auth", "catalog", "discovery", "marketplace")
FAMOUS = ("is_staff", "is_superuser", "is_active", "is_approved", "owner", "owner_id", "group_id",
          "state", "digest", "core", "pinned", "acl", "command_hash", "admin", "role", "by", "pk",
          "user_permissions", "permissions", "password", "last_used_at", "revoked_at")  # fmt: skip
DEFINITION = ("description", "display_name", "category", "tags", "input_schema", "content",
              "examples", "required_tools", "has_side_effects", "expires_at")  # fmt: skip
FOR_A_MESSAGE = {
    "message", "user", "group", "space", "kind", "format", "detail", "application", "conversation",
}  # fmt: skip
# Of these, fields that API calls accept on purpose.
TAKEN_ON_PURPOSE = {
    "api/v1/graph/<str:full_name>": {"group", "space", "weight", "application"},
    "api/v1/access/rules": {"group", "space", "integration", "capability", "effect"},
    "api/v1/keys": {
        *("name", "group", "groups", "all_groups", "owner", "acts_for_users", "scopes"),
        *("expires_at", "application"),
    },
    "api/v1/groups": {"name"},
    "api/v1/groups/<int:pk>": {"name"},
    "api/v1/groups/<int:pk>/spaces": {"name", "parent"},
    "api/v1/spaces": {"group", "name", "parent"},
    "api/v1/spaces/<int:pk>": {"name", "parent"},
    "api/v1/grants": {"user", "group", "integration", "capability"},
    "api/v1/access/grants": {"user", "group", "integration", "capability"},
    "api/v1/invitations": {"email", "groups", "role"},
    "api/v1/select": {*FOR_A_MESSAGE, "examples", "mode"},
    "api/v1/discover": {*FOR_A_MESSAGE, "mode"},
    "api/v1/plan": FOR_A_MESSAGE,
    "api/v1/turns/<uuid:turn_id>/outcome": {"status", "score", "called", "note"},
    "api/v1/turns/<uuid:turn_id>/results": {"results"},
    "api/v1/capabilities": {"user", "group", "name", "kind", *DEFINITION},
    "api/v1/capabilities/<str:full_name>": {"user", "group", *DEFINITION},
    "api/v1/runtime-capabilities/<str:full_name>": {"state", "groups"},
    "api/v1/capabilities/batch": {"user", "group", "space", "examples", "detail", "application"},
    "api/v1/meta/<str:name>": {"user", "group", "space", "turn_id", "application"},
    "api/v1/execute": {"user", "group", "space", "name", "turn_id", "application", "conversation"},
    "api/v1/approvals/<uuid:pk>/approve": {"note"},
}  # fmt: skip
ADD = "add/"
FORMS = (ADD, CHANGE)
# A turn's timings always differ.
NEVER_THE_SAME = {"discovery_turn"}
# A new call has a random id. This form reads fields by the tool's schema only.
# So has a new chat, and numbers of new rows go on counting.
MAKES_A_CALL = {
    "tools/<slug:full_name>/try/": {"discovery_call"},
    "playground/chat/": {"discovery_chat", "discovery_chatmessage", "discovery_modelrequest"},
    "playground/chat/<uuid:pk>/": {"discovery_chatmessage", "discovery_modelrequest"},
}
WRITES = [
    (row, method)
    for row in EVERY
    for method in ("POST", "PUT", "PATCH")
    if row.door.is_api
    and method in row.methods.split()
    # Bodies of SCIM follow its own schemas, which ignore other fields (RFC 7644, 3.3): tests/scim
    and not row.route.startswith("scim/")
]


@cache
def hostile_values() -> dict[str, str]:
    """Return an attacker's value for each column of ours, and for well-known names."""
    values = dict.fromkeys(FAMOUS, "1")
    for label in APPS:
        for model in apps.get_app_config(label).get_models():
            for field in model._meta.get_fields():
                if isinstance(field, models.Field):
                    values |= {field.name: _value(field), field.attname: _value(field)}
    return values


def _value(field: models.Field) -> str:
    if isinstance(field, models.BooleanField):
        return "on"
    if isinstance(field, models.DateTimeField):
        return "2001-01-01 00:00:00"
    if field.choices:
        return str(list(field.flatchoices)[-1][0])
    return "1"


@pytest.mark.parametrize(
    ("row", "method"), WRITES, ids=lambda value: getattr(value, "route", value)
)
def test_call_names_each_field_that_it_does_not_know(
    world: World, row: Row, method: str, before: Contents
) -> None:
    client = world.client("own key")
    query, body, fill = parts_of(world, row)

    known = body.keys() | TAKEN_ON_PURPOSE.get(row.route, set())
    for names in batched(sorted(hostile_values().keys() - known)):
        more = {name: hostile_values()[name] for name in names}
        response = send(client, row, method, (query, {**body, **more}, fill))

        assert response.status_code == 400, names
        assert [error["field"] for error in response.json()["errors"]] == names
    assert changed(before) == set()


def batched(names: list[str]) -> list[list[str]]:
    """Return the names in batches as large as an error message lists."""
    return [names[start : start + 20] for start in range(0, len(names), 20)]


@pytest.mark.parametrize(
    ("row", "method"), WRITES, ids=lambda value: getattr(value, "route", value)
)
def test_call_takes_no_more_than_what_was_meant(row: Row, method: str) -> None:
    schema = described_schema()
    paths = {re.sub(r"{\w+}", "{}", path): calls for path, calls in schema["paths"].items()}
    described = paths[path_of(row.route, defaultdict(lambda: "{}"))][method.lower()]

    taken = _properties(schema, described) & hostile_values().keys()

    assert taken <= TAKEN_ON_PURPOSE.get(row.route, set()) | row.body.keys()


@cache
def described_schema() -> dict[str, Any]:
    """The API's own schema."""
    schema: dict[str, Any] = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    return schema


def _properties(schema: dict[str, Any], described: dict[str, Any]) -> set[str]:
    if "requestBody" not in described:
        return set()
    reference = described["requestBody"]["content"]["application/json"]["schema"]["$ref"].rsplit(
        "/", 1
    )[-1]
    return set(schema["components"]["schemas"][reference]["properties"])


@pytest.fixture(scope="module")
def sent() -> set[tuple[str, str]]:
    """Forms that were sent already: the frame has the same ones on each page.

    Of two people who are shown the same form, one sends it; in `make test-long`, both.
    """
    return set()


def has_fields(row: Row) -> bool:
    """Return True for pages with a form of their own.

    Lists of Django's admin have no fields of a row, and its two forms of a table have the same.
    """
    if is_of_table(row, *FORMS):
        return is_of_table(row, *some_of(FORMS, row.route.removesuffix(CHANGE).removesuffix(ADD)))
    return not row.door.is_api and not is_of_table(row, "", *ONLY_SHOWN)


@places_where(has_fields, tables="forms")
def test_form_with_more_fields_stores_what_it_would_without(
    world: World, place: Place, sent: set[tuple[str, str]]
) -> None:
    for row in place.rows:
        for who in senders(row):
            client = world.client(who)
            for form in forms_of(world, client, row):
                key = (who if EACH_OF_ALIKE else "", form.sends)
                if key in sent:
                    continue  # in the same world it would store the same
                sent.add(key)
                extra = {
                    name: value
                    for name, value in hostile_values().items()
                    if name not in form.names
                }

                usual, _ = left_by(client, form, {})
                with_more, status = left_by(client, form, extra)

                chance = NEVER_THE_SAME | MAKES_A_CALL.get(row.route, set())
                tables = differing(usual, with_more) - chance
                told = f"{row.route} {form.action} by {who}: {status} {form.names}"
                assert tables == set(), told


def senders(row: Row) -> list[str]:
    """Return who opens the page: at every other row the admin first.

    Alice is refused by what is for admins, with or without fields (test_every_route.py).
    """
    if row.door.insider == "root":
        return ["root"]
    first = some_of(("alice", "root"), row.route)[0]
    return sorted(("alice", "root"), key=lambda who: who != first)


def test_forms_that_are_tried_do_change_something(world: World) -> None:
    """Otherwise the test above would compare refusals."""
    before, root = contents(), world.client("root")

    changing = [
        row.route
        for row in EVERY
        if "POST" in row.methods and row.door is ADMIN_PAGE
        for form in forms_of(world, root, row)
        if differing(before, left_by(root, form, {})[0])
    ]

    assert len(set(changing)) >= 8, changing


def forms_of(world: World, client: Client, row: Row) -> list[Form]:
    """Return the forms of the row's page, and the one in the row."""
    if row.door.is_api:
        return []
    query, body, fill = parts_of(world, row)
    address = "/" + row.path if row.path else path_of(row.route, fill)
    forms = []
    if "GET" in row.methods:
        response = send(client, row, "GET", (query, {}, fill))
        if response.status_code == 200 and "html" in response["Content-Type"]:
            forms = post_forms(response.content.decode(), address)
    # For Django's admin, the pages' own forms are complete.
    if "POST" in row.methods and row.body and row.door is not DJANGO_ADMIN:
        fields = QueryDict(mutable=True)
        for name, value in body.items():
            fields[name] = value
        names = {name for form in forms if form.action == address for name in form.names}
        forms.append(Form(address, fields, set(fields) | row.takes | names))
    return [form for form in forms if not form.action.startswith(("/sign-out", "/admin/logout"))]


def left_by(client: Client, form: Form, extra: dict[str, str]) -> tuple[Contents, int]:
    """Send the form; return all tables' contents and the status, and roll back.

    Clock and random numbers are fixed.
    """
    fields = form.fields.copy()
    fields.update(extra)
    with (
        undone(),
        time_machine.travel(_NOW, tick=False),
        patch("secrets.token_urlsafe", _no_dice),
        patch.object(Now, "as_postgresql", _start_of_transaction),
    ):
        status = client.post(
            form.action, fields.urlencode(), "application/x-www-form-urlencoded"
        ).status_code
        return contents(), status


def _start_of_transaction(self: Any, *args: Any, **kwargs: Any) -> Any:
    return self.as_sql(*args, template="CURRENT_TIMESTAMP", **kwargs)


def _no_dice(size: int | None = None) -> str:
    return "A" * 43


_NOW = timezone.now()
