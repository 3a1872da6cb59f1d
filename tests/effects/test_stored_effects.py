"""Stored effects: computed once, corrected by admins, and without a review or an embedding."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import Settings

from catalog.formats.descriptors import IntegrationDescriptor, Loaded
from catalog.formats.readers.tools_list import normalize_tools
from catalog.models import Capability
from catalog.registration.admin_corrections import correct_capability
from catalog.registration.catalog_rebuild import rebuild_catalog
from catalog.registration.register import register
from tests.readiness.policy import asks_first

pytestmark = pytest.mark.django_db
STORE = IntegrationDescriptor(slug="store", kind="mcp", title="Store")
LIST = {
    "name": "list_tables",
    "description": "List the tables.",
    "inputSchema": {"type": "object", "properties": {"schema": {"type": "string"}}},
}


def offer(*tools: dict[str, Any]) -> Capability:
    """Register the tools of a server; return the first one's row."""
    loaded = normalize_tools(list(tools), integration=STORE)
    register(Loaded((STORE,), loaded.capabilities), by=None, source="tests", send=False)
    return Capability.objects.get(action=tools[0]["name"])


@pytest.fixture
def admin() -> User:
    return User.objects.create_superuser("root", password="x")


def test_a_listing_tool_of_a_server_without_annotations_reads() -> None:
    row = offer(LIST)

    assert (row.side_effect, row.effect_flags) == ("read", ["reads_private_data"])
    assert row.effect_confidence > 0.8
    assert {one["source"] for one in row.effect_evidence["side_effect"]} == {"name", "description"}


def test_it_runs_unasked_where_writes_need_approval(settings: Settings) -> None:
    settings.PEGBOARD_APPROVE, settings.PEGBOARD_TRUSTED_SERVERS = "write", ()

    assert not asks_first(offer(LIST))


def test_an_unknown_effect_waits_like_a_write(settings: Settings) -> None:
    settings.PEGBOARD_APPROVE, settings.PEGBOARD_TRUSTED_SERVERS = "write", ()
    row = offer({**LIST, "name": "frobnicate", "description": ""})

    assert row.side_effect == "unknown"
    assert row.has_side_effects
    assert asks_first(row)


def test_a_hint_alone_waits_unless_the_server_is_trusted(settings: Settings) -> None:
    settings.PEGBOARD_APPROVE, settings.PEGBOARD_TRUSTED_SERVERS = "write", ()
    hint = {"annotations": {"readOnlyHint": True}, "description": ""}
    row = offer({**LIST, "name": "frobnicate", **hint})

    assert asks_first(row)

    settings.PEGBOARD_TRUSTED_SERVERS = ("store",)
    assert not asks_first(row)


def test_the_definitions_digest_is_that_of_earlier_releases() -> None:
    """An approval is bound to it: computed by the release before effects were assessed."""
    digest = "23a6fecb0ecb713098784a24c84086d6bddc6bdaf00c3dcc45e833ab425652b1"

    assert offer(LIST).definition_hash == digest


def test_an_admins_word_outlives_new_definitions_and_rebuilds(admin: User) -> None:
    row = offer(LIST)
    row.side_effect, row.effect_flags = "delete", ["reaches_outside"]
    correct_capability(by=admin, capability=row, changed=["side_effect", "effect_flags"])

    changed = offer({**LIST, "description": "List all tables of a schema."})
    rebuild_catalog(by=None)
    changed.refresh_from_db()

    assert changed.description == "List all tables of a schema."
    assert (changed.side_effect, changed.effect_confidence) == ("delete", 1.0)
    assert changed.effect_flags == ["reaches_outside"]
    assert [one["source"] for one in changed.effect_evidence["side_effect"]] == ["admin"]


def test_an_admins_word_lets_a_tool_run_unasked(admin: User, settings: Settings) -> None:
    settings.PEGBOARD_APPROVE, settings.PEGBOARD_TRUSTED_SERVERS = "write", ()
    row = offer({**LIST, "name": "frobnicate", "description": ""})
    row.side_effect = "read"

    correct_capability(by=admin, capability=row, changed=["side_effect"])

    assert not asks_first(Capability.objects.get(pk=row.pk))


def test_admins_correct_effects_in_the_admin(admin: User, client: Client) -> None:
    row = offer(LIST)
    client.force_login(admin)
    inlines = {
        f"{name}-{part}": "0"
        for name in ("capabilitygrouppermission_set", "capabilityuserpermission_set")
        for part in ("TOTAL_FORMS", "INITIAL_FORMS")
    }
    kept = {name: getattr(row, name) for name in ("category", "state", "ai_access")}
    chosen = {"side_effect": "write", "effect_flags": ["reaches_outside"]}

    answer = client.post(
        f"/admin/catalog/capability/{row.pk}/change/", {**kept, **chosen, **inlines}
    )

    assert answer.status_code == 302
    row.refresh_from_db()
    assert (row.side_effect, row.effect_flags) == ("write", ["reaches_outside"])
