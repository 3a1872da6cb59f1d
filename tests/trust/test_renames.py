"""Renamed tools keep what hangs on them; definitions under review are absent everywhere."""

from copy import deepcopy
from typing import Any

import pytest
from django.apps import apps
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from acl.models import AuditEntry
from catalog.formats.loader import load_value
from catalog.models import Capability, Embedding, Rule
from catalog.registration.admin_corrections import correct_capability
from catalog.registration.definition_comparison import store_definitions
from catalog.registration.definition_review import approve_definitions, seen_digest
from catalog.registration.register import register
from catalog.registration.tool_renames import CARRIED, LEFT, RELATIONS, count_hanging, rename_of
from catalog.trust.text_differences import ALIKE, TWIN, features_of, find_like, likeness
from catalog.trust.tool_list import parse_definition, reconstruct_definition
from discovery.calls.execution import NeedsApprovalError
from discovery.mcp.answers.dispatch import call_meta_tool
from discovery.models import Call, FlowRule, Quota, ToolExample
from tests.access.people import People, client_of
from tests.access.ways import WAYS, Way, told
from tests.factories import give
from tests.trust.reviewed_server import READ, WRITE, World
from tests.web.conftest import client_with, new_key

DENY, PROPOSE, ALLOW = Rule.Effect.DENY, Rule.Effect.PROPOSE, Rule.Effect.ALLOW
TEXTS = st.text("abc de.", max_size=40)
TOOLS = st.fixed_dictionaries(
    {"name": st.text("ab_", min_size=1, max_size=6), "description": TEXTS},
    optional={
        "inputSchema": st.dictionaries(
            st.sampled_from("xyz"), st.sampled_from([{"type": "string"}, {}, True, None])
        ).map(lambda fields: {"type": "object", "properties": fields})
    },
)


def renamed(tool: dict[str, Any], name: str, **fields: Any) -> dict[str, Any]:
    return {**deepcopy(tool), "name": name, **fields}


def capability(name: str) -> Capability:
    return Capability.objects.get(action=name)


# -- likeness


@given(one=TOOLS, other=TOOLS)
def test_likeness_is_the_same_in_either_order_and_between_0_and_1(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    mine, theirs = features_of(one), features_of(other)

    assert likeness(mine, theirs) == likeness(theirs, mine)
    assert 0 <= likeness(mine, theirs) <= 1


@given(tool=TOOLS, name=st.text(max_size=10))
def test_another_name_alone_changes_no_likeness(tool: dict[str, Any], name: str) -> None:
    other = renamed(tool, name, title=name)

    assert likeness(features_of(tool), features_of(other)) == 1
    assert find_like(other, {"old": features_of(tool)}, at_least=TWIN) == "old"


def test_tool_with_other_words_is_another_tool() -> None:
    assert find_like(WRITE, {"read_note": features_of(READ)}, at_least=ALIKE) == ""


# -- what hangs on a tool


def test_every_table_that_points_at_a_capability_is_carried_or_left() -> None:
    related = {
        model._meta.label_lower
        for model in apps.get_models(include_auto_created=True)
        for field in model._meta.concrete_fields
        if field.remote_field is not None and field.remote_field.model is Capability
    }

    assert related == {*CARRIED, *LEFT, RELATIONS}


def hang_everything(world: World, tool: Capability) -> None:
    root = world.group.spaces.get(parent=None)
    Rule.objects.create(space=root, effect=DENY, capability=tool)
    Rule.objects.create(space=root, effect=PROPOSE, capability=tool, user_id=world.bob.user_id)
    give(tool, world.group)
    Quota.objects.create(group=world.group, capability=tool, measure="calls", hard=3)
    FlowRule.objects.create(capability=tool, mode="refuse")
    ToolExample.objects.create(capability=tool, title="One", arguments_json="{}")
    Capability.objects.filter(pk=tool.pk).update(ai_access="propose", core=True)


@pytest.mark.django_db
def test_renamed_tool_gets_all_that_hangs_on_the_old_name(world: World) -> None:
    world.says(READ, WRITE, by=world.alice)
    hang_everything(world, capability("read_note"))

    world.says(renamed(READ, "read_note_v2"), WRITE)
    waiting = world.row("read_note_v2")
    rename = rename_of(waiting)
    assert world.usable == ["write_note"]
    assert rename is not None
    assert rename.old == "read_note"
    world.approve("read_note_v2")

    expected = {"deny": 1, "propose": 1, "grants": 1, "quotas": 1, "flow_rules": 1, "examples": 1}
    assert count_hanging(capability("read_note_v2")) == {**expected, "settings": 2}
    assert rename.hangs == {**expected, "settings": 2}
    assert world.usable == ["write_note"]
    entry = AuditEntry.objects.filter(action="definition.approve").latest("pk")
    assert entry.details["old_name"] == "read_note"
    assert entry.details["carried"]["deny"] == 1


@pytest.mark.django_db
def test_renamed_tool_keeps_a_quotas_use_and_an_admins_category(world: World) -> None:
    world.says(READ, WRITE, by=world.alice)
    old = capability("read_note")
    Quota.objects.create(capability=old, measure="calls", hard=3)
    old.category = "Bookkeeping"
    correct_capability(by=world.alice, capability=old, changed=["category"])
    names = ["read_note_v2", "reader", "note_reader"]

    for name in names:
        world.says(renamed(READ, name), WRITE)
        world.approve(name)
    world.says(renamed(READ, names[-1], description="Reads a note by its name."), WRITE)

    new = capability(names[-1])
    assert (new.category, new.category_inferred, new.state) == ("Bookkeeping", False, "approved")
    assert Quota.objects.get(capability=new).former_names == [
        f"notes__{name}" for name in ("read_note", *names[:-1])
    ]
    assert capability("write_note").category_inferred


@pytest.mark.django_db
def test_only_a_person_who_says_so_leaves_a_deny_behind(world: World) -> None:
    world.says(READ, by=world.alice)
    hang_everything(world, capability("read_note"))
    world.says(renamed(READ, "read_note_v2", description="Reads a note by name, quickly."))
    seen = {"read_note_v2": seen_digest(world.row("read_note_v2"))}

    approve_definitions(
        by=world.alice, integration=world.notes, digests=seen, apart=["read_note_v2"]
    )

    assert count_hanging(capability("read_note_v2")) == {}
    assert count_hanging(capability("read_note"))["deny"] == 1
    entry = AuditEntry.objects.filter(action="definition.approve").latest("pk")
    assert entry.details["left"]["deny"] == 1


@pytest.mark.django_db
def test_second_name_beside_the_first_gets_its_limits_and_no_grants(world: World) -> None:
    world.says(READ, by=world.alice)
    hang_everything(world, capability("read_note"))
    world.says(READ, renamed(READ, "read_note_2"))

    world.approve("read_note_2")

    hangs = count_hanging(capability("read_note_2"))
    assert {"deny", "propose", "quotas", "flow_rules", "settings"} == set(hangs)


@pytest.mark.django_db
def test_name_that_came_before_the_old_one_went_is_a_rename_from_then_on(world: World) -> None:
    world.says(READ, by=world.alice)
    give(capability("read_note"), world.group)
    world.says(READ, renamed(READ, "reader"))
    assert rename_of(world.row("reader")) is None

    world.says(renamed(READ, "reader"))

    rename = rename_of(world.row("reader"))
    assert rename is not None
    assert rename.hangs == {"grants": 1}


@pytest.mark.django_db
def test_new_tool_of_an_import_waits_if_it_renames_a_limited_one(world: World) -> None:
    def imported(name: str) -> None:
        tool = {**READ, "name": name}
        loaded = load_value({"tools": [tool]}, file="notes.json")
        register(loaded, by=world.alice, source="notes.json")

    imported("find_page")
    old = capability("find_page")
    root = world.group.spaces.get(parent=None)
    Rule.objects.create(space=root, effect=DENY, capability=old)

    imported("find_page_v2")

    assert not Capability.objects.filter(action="find_page_v2").exists()


def says(people: People, *, also: bool) -> None:
    """gmail's first definitions; later one changes, and one is added."""
    tools = [parse_definition(reconstruct_definition(one)) for one in (people.send, people.search)]
    if also:
        tools[0]["description"] = "Quince: send an email, search the pages."
        tools.append({"name": "quince_mail", "description": "Quince: send an email."})
    store_definitions(integration=people.gmail, tools=tools, by=None)


def asked(client: Client, way: Way) -> tuple[int, str]:
    status, body, _ = told(way.ask(client, "alice", "gmail__search"), "gmail__search")
    return status, body


@pytest.mark.django_db
def test_no_way_in_tells_of_what_waits(people: People) -> None:
    client = client_of(people.support)
    says(people, also=False)
    promises = set(Embedding.objects.values_list("capability", "text_hash"))

    says(people, also=True)
    with_both = [asked(client, way) for way in WAYS]
    assert set(Embedding.objects.values_list("capability", "text_hash")) == promises
    people.send.refresh_from_db()
    assert (people.send.state, "Quince" in people.send.description) == ("quarantined", False)
    # The same catalogue without the tool, and without pending reviews.
    Capability.objects.filter(pk=people.send.pk).update(state="pending")
    people.gmail.definitions.all().delete()
    without = [asked(client, way) for way in WAYS]

    assert not [way for way, (_, body) in zip(WAYS, with_both, strict=True) if "uince" in body]
    assert not [way for way, (_, body) in zip(WAYS, with_both, strict=True) if "send_email" in body]
    assert with_both == without


@pytest.mark.django_db
def test_call_of_what_has_changed_is_told_to_who_could_use_it_alone(people: People) -> None:
    says(people, also=False)
    says(people, also=True)
    group, finance = (new_key(one, "execute") for one in (people.support, people.finance))
    body = {"arguments": {}, "name": people.send.full_name}

    own = execute(group, {**body, "user": "alice"})
    new = execute(group, {**body, "user": "alice", "name": "gmail__quince_mail"})
    foreign = execute(finance, {**body, "user": "charlie"})
    unknown = execute(finance, {**body, "user": "charlie", "name": "gmail__no_such"})

    assert (own.status_code, new.status_code, foreign.status_code) == (409, 404, 404)
    assert "needs_approval" in own.json()["detail"]
    assert foreign.json()["detail"].replace("send_email", "no_such") == unknown.json()["detail"]
    with pytest.raises(NeedsApprovalError):
        call_meta_tool(caller=people.caller, name="execute_tool", arguments={"name": body["name"]})
    assert not Call.objects.exists()


def execute(key: str, body: dict[str, Any]) -> Any:
    return client_with(key).post("/api/v1/execute", body, "application/json")
