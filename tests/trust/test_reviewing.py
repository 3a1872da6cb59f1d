"""Pinned definitions, their review and its pages, and proposed servers."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from acl.models import AuditEntry
from catalog.models import Capability, Definition, Embedding, Integration, ServerProposal
from catalog.registration.definition_comparison import store_definitions
from catalog.registration.definition_review import (
    ChangedSinceError,
    approve_definitions,
    forget_gone,
    list_waiting,
    reject_definitions,
    seen_digest,
)
from marketplace.models import Installation
from tests.factories import IntegrationFactory
from tests.trust.reviewed_server import POISON, READ, WRITE, World, changed

pytestmark = pytest.mark.django_db

Standing = Definition.Standing


def one_byte(tool: dict[str, Any]) -> None:
    tool["description"] = tool["description"].replace("name.", "name ")


def a_schema(tool: dict[str, Any]) -> None:
    tool["inputSchema"]["properties"]["more"] = {"type": "string"}


def a_default(tool: dict[str, Any]) -> None:
    tool["inputSchema"]["properties"]["name"]["default"] = "b"


def an_enum(tool: dict[str, Any]) -> None:
    tool["inputSchema"]["properties"]["name"]["enum"] = ["a", "b", "c"]


def an_annotation(tool: dict[str, Any]) -> None:
    tool["annotations"] = {"readOnlyHint": False, "destructiveHint": True}


def a_title(tool: dict[str, Any]) -> None:
    tool["title"] = "Read notes"


def an_output(tool: dict[str, Any]) -> None:
    tool["outputSchema"] = {"type": "object"}


def something_hidden(tool: dict[str, Any]) -> None:
    tool["description"] += "\u200b"


@pytest.mark.parametrize(
    "change",
    [one_byte, a_schema, a_default, an_enum, an_annotation, a_title, an_output, something_hidden],
)
def test_any_change_takes_the_tool_out_until_it_is_looked_at(
    world: World, change: Callable[[dict[str, Any]], None]
) -> None:
    world.says(READ, WRITE, by=world.alice)
    before = Capability.objects.get(action="read_note")
    promise = Embedding.objects.get(capability=before).text_hash
    other = deepcopy(READ)
    change(other)

    report = world.says(other, WRITE)

    after = Capability.objects.get(action="read_note")
    assert (report.changed, report.unchanged, report.needs_review) == (["read_note"], 1, True)
    assert world.usable == ["write_note"]
    assert after.state == "quarantined"
    # Nothing of it is in the catalogue or about to be embedded.
    assert after.definition_hash == before.definition_hash
    assert Embedding.objects.get(capability=after).text_hash == promise
    world.approve("read_note")
    assert world.usable == ["read_note", "write_note"]


def test_order_and_the_way_of_writing_numbers_are_no_change(world: World) -> None:
    schema = {"type": "object", "properties": {"a": {"maximum": 1.0}, "b": {}}}
    world.says({"name": "t", "description": "T.", "inputSchema": schema}, by=world.alice)

    again = {"properties": {"b": {}, "a": {"maximum": 1}}, "type": "object"}
    report = world.says({"inputSchema": again, "description": "T.", "name": "t", "_meta": {"n": 1}})

    assert (report.unchanged, report.changed) == (1, [])


@pytest.mark.parametrize(
    "part",
    [
        {"icons": [{"src": "https://a.example/other.png"}]},
        {"annotations": {"readOnlyHint": False}},
        {"_meta": {"n": 2, "ui": {"resourceUri": "ui://other"}}},
        {"_meta": {"n": 2, "openai/visibility": "private"}},
        {"outputSchema": {"type": "array"}},
    ],
    ids=str,
)
def test_what_clients_act_on_is_reviewed_when_it_changes(
    world: World, part: dict[str, Any]
) -> None:
    tool = {"name": "t", "description": "T.", "inputSchema": {"type": "object"}}
    world.says(tool | {"_meta": {"n": 1}}, by=world.alice)

    report = world.says(tool | {"_meta": {"n": 1}} | part)

    assert report.changed == ["t"]


def test_new_tools_wait_and_are_nowhere(world: World) -> None:
    world.says(READ, by=world.alice)

    report = world.says(READ, WRITE)

    assert (report.new, list(report.waiting)) == (["write_note"], ["write_note"])
    assert world.usable == ["read_note"]
    assert not Capability.objects.filter(action="write_note").exists()
    assert AuditEntry.objects.get(action="definition.differs").details == {"new": ["write_note"]}


def test_first_installation_approves_what_nothing_was_found_in(world: World) -> None:
    tagged = changed(name="tagged", description="Reads.\U000e0041\U000e0042")

    report = world.says(READ, tagged, {**READ, "description": "Another one."}, by=world.alice)

    assert world.usable == []  # listed twice: neither is taken
    assert {name: found[0].code for name, found in report.waiting.items()} == {
        "read_note": "listed_twice",
        "tagged": "tag_characters",
    }
    assert report.waiting["tagged"][0].excerpt == "AB"


def test_only_what_was_seen_is_approved(world: World) -> None:
    world.says(READ, by=world.alice)
    world.says(changed(description="Second."))
    looked_at = {"read_note": seen_digest(world.row("read_note"))}
    world.says(changed(description="Third."))

    with pytest.raises(ChangedSinceError):
        approve_definitions(by=world.alice, integration=world.notes, digests=looked_at)

    assert world.usable == []


def test_tool_that_returns_to_what_was_approved_waits_too(world: World) -> None:
    world.says(READ, by=world.alice)
    world.says(changed(description="Second."))

    report = world.says(READ)
    again = world.says(READ)

    assert (report.returned, again.returned, world.usable) == (["read_note"], [], [])
    assert world.row("read_note").standing == Standing.RETURNED
    world.approve("read_note")
    assert world.usable == ["read_note"]
    assert Capability.objects.get().description == "Reads a note by its name."


def test_rejected_text_does_not_wait_again_and_another_does(world: World) -> None:
    world.says(READ, by=world.alice)
    second = changed(description="Second.")
    world.says(second)
    seen = {"read_note": seen_digest(world.row("read_note"))}

    reject_definitions(by=world.alice, integration=world.notes, digests=seen)
    same, other = world.says(second), world.says(changed(description="Third."))

    assert (same.needs_review, other.needs_review, world.usable) == (False, True, [])


def test_tool_that_is_gone_cannot_be_used_and_may_come_back_as_it_was(world: World) -> None:
    world.says(READ, WRITE, by=world.alice)
    report = world.says(READ)
    gone = (report.gone, world.usable)
    world.says(READ, WRITE)
    back = world.usable
    world.says(READ)

    removed = forget_gone(by=world.alice, integration=world.notes, names=["write_note"])

    assert gone == (["write_note"], ["read_note"])
    assert back == ["read_note", "write_note"]
    assert removed == ["write_note"]
    assert not Capability.objects.filter(action="write_note").exists()


def test_list_that_was_cut_says_nothing_about_the_rest(world: World) -> None:
    world.says(READ, WRITE, by=world.alice)

    store_definitions(integration=world.notes, tools=[READ], by=None, complete=False)

    assert world.usable == ["read_note", "write_note"]


def test_what_cannot_be_read_any_longer_is_out_and_cannot_be_approved(world: World) -> None:
    world.says(READ, WRITE, by=world.alice)
    deep: dict[str, Any] = {}
    for _ in range(40):
        deep = {"properties": {"a": deep}}

    report = world.says({**READ, "inputSchema": deep}, {**WRITE, "description": "x" * 300_000})

    assert (sorted(report.changed), world.usable) == (["read_note", "write_note"], [])
    assert all(row.problem for row in list_waiting(world.notes))


def test_tools_from_before_there_were_pins_get_theirs_at_the_first_reading(world: World) -> None:
    world.says(READ, WRITE, by=world.alice)
    Definition.objects.all().delete()

    report = world.says(READ, {**WRITE, "description": "Sends a note."})

    assert (report.unchanged, report.changed) == (1, ["write_note"])
    assert world.usable == ["read_note"]


def test_what_could_not_be_read_is_kept_by_tool_field_and_reason(world: World) -> None:
    world.says(READ, by=world.alice)

    broken = {"name": "draft", "inputSchema": ["no schema"]}
    stored = world.says(READ, {**WRITE, "inputSchema": {"properties": {"a": "text"}}}, broken)

    world.notes.refresh_from_db()
    assert world.usable == ["read_note"]  # what is installed stays
    assert [(row["tool"], row["field"]) for row in world.notes.list_defects] == [
        ("write_note", "inputSchema.properties.a"),
        ("draft", "inputSchema"),
    ]
    assert "draft.inputSchema must be a mapping" in stored.summary
    world.says(READ)
    world.notes.refresh_from_db()
    assert world.notes.list_defects == []


PATH = "/integrations/notes/review/"


def decide(client: Client, **body: str) -> Any:
    return client.post(f"{PATH}decide/", body)


def seen(world: World, name: str) -> dict[str, str]:
    return {"name": name, "seen": seen_digest(world.row(name))}


def test_difference_is_shown_and_approved_as_it_was_seen(world: World, as_admin: Client) -> None:
    world.says(READ, WRITE, by=world.alice)
    world.says(changed(description=POISON, annotations={"readOnlyHint": False}), WRITE)
    shown = as_admin.get(PATH)
    digest = seen(world, "read_note")

    world.says(changed(description="Third."), WRITE)
    late = decide(as_admin, decision="approve", **digest)
    now = decide(as_admin, decision="approve", **seen(world, "read_note"))

    html = shown.content.decode()
    assert "tells the model to ignore other instructions" in html
    assert "⟨U+200B⟩" in html
    assert "\u200b" not in html
    assert "Changed: Description, Annotations." in html
    assert (late.status_code, world.usable) == (409, ["read_note", "write_note"])
    assert "changed since you opened the page" in late.content.decode()
    assert now.status_code == 302
    assert Capability.objects.get(action="read_note").description == "Third."
    details = AuditEntry.objects.get(action="definition.approve").details
    assert details["tool"] == "read_note"


def test_kept_out_and_removed_with_one_button_each(world: World, as_admin: Client) -> None:
    world.says(READ, WRITE, by=world.alice)
    world.says(changed(description="Second."))

    kept = decide(as_admin, decision="reject", **seen(world, "read_note"))
    removed = decide(as_admin, decision="remove", name="write_note")
    nothing = decide(as_admin, decision="remove", name="write_note")

    assert [kept.status_code, removed.status_code, nothing.status_code] == [302, 302, 409]
    assert world.usable == []
    assert list(Definition.objects.values_list("name", "standing")) == [("read_note", "rejected")]
    assert (
        AuditEntry.objects.filter(action__in=("definition.reject", "definition.remove")).count()
        == 2
    )


def test_installation_goes_on_when_nothing_waits_any_longer(world: World, as_admin: Client) -> None:
    installation = Installation.objects.create(
        integration=world.notes, by=world.alice, state=Installation.State.NEEDS_APPROVAL
    )
    world.says(READ, changed(name="odd", description=POISON), by=world.alice)
    assert not Embedding.objects.filter(capability__action="odd").exists()

    decide(as_admin, decision="reject", **seen(world, "odd"))

    installation.refresh_from_db()
    assert installation.state == Installation.State.EMBEDDING
    assert world.usable == ["read_note"]


def test_all_are_approved_together_or_not_at_all(world: World, as_admin: Client) -> None:
    world.says(READ, by=world.alice)
    world.says(READ, WRITE, changed(name="other"))
    page = as_admin.get(PATH).content.decode()
    digest = page.split('name="seen" value="')[1].split('"')[0]

    world.says(READ, WRITE, changed(name="other", description="Else."))
    late = decide(as_admin, decision="approve-all", seen=digest)
    usable = world.usable
    digest = late.content.decode().split('name="seen" value="')[1].split('"')[0]
    now = decide(as_admin, decision="approve-all", seen=digest)

    assert (late.status_code, usable) == (409, ["read_note"])
    assert (now.status_code, world.usable) == (302, ["other", "read_note", "write_note"])


def test_update_that_waits_is_shown_beside_what_serves(world: World, as_admin: Client) -> None:
    world.says(READ, by=world.alice)
    after = changed(description=POISON)
    Installation.objects.create(
        integration=world.notes,
        by=world.alice,
        kind=Installation.Kind.UPDATE,
        state=Installation.State.NEEDS_APPROVAL,
        tools=[after],
        changes=[{"name": "read_note", "what": "changed", "before": READ, "after": after}],
    )

    html = as_admin.get(PATH).content.decode()

    assert "Approve update" in html
    assert "tells the model to ignore other instructions" in html
    assert world.usable == ["read_note"]


def test_review_by_api_is_bound_to_what_was_seen(world: World, as_admin: Client) -> None:
    world.says(READ, by=world.alice)
    world.says(changed(description=POISON), WRITE)
    path = "/api/v1/integrations/notes/review"
    told = as_admin.get(path)
    by_name = {one["name"]: one for one in told.json()["definitions"]}
    seen = {name: one["seen"] for name, one in by_name.items()}

    def post(what: str, **body: Any) -> Any:
        return as_admin.post(f"{path}/{what}", body, content_type="application/json")

    answers = [
        post("approve", definitions={"read_note": "0" * 64}).status_code,
        post("approve").status_code,
        post("reject", definitions={"read_note": seen["read_note"]}).json(),
        post("approve", seen=as_admin.get(path).json()["seen"]).json(),
    ]

    (description,) = (one for one in by_name["read_note"]["differences"] if one["changed"])
    assert "\u200b" not in told.content.decode()
    assert description["after"].endswith("instructions.⟨U+200B⟩")
    assert by_name["read_note"]["findings"][0]["severity"] == "high"
    assert answers == [409, 400, {"decided": 1, "waiting": 1}, {"decided": 1, "waiting": 0}]
    assert world.usable == ["write_note"]


def test_number_of_statements_does_not_grow_with_what_waits(
    world: World, as_admin: Client, django_assert_max_num_queries: Any
) -> None:
    world.says(READ, by=world.alice)
    world.says(READ, *(changed(name=f"more_{number}") for number in range(30)))

    with django_assert_max_num_queries(16):
        html = as_admin.get(PATH).content.decode()

    assert html.count('class="change"') == 20
    assert "Page 1 of 2" in html


PROPOSALS_PATH = "/marketplace/proposals/"


def test_proposal_that_is_approved_is_an_installation(
    as_admin: Client, maps: ServerProposal, support: Group
) -> None:
    begun = as_admin.post(f"{PROPOSALS_PATH}{maps.pk}/", {"decision": "install", "for_group": "on"})
    again = as_admin.post(f"{PROPOSALS_PATH}{maps.pk}/", {"decision": "install"})

    installation = Installation.objects.get()
    maps.refresh_from_db()
    assert (begun.status_code, again.status_code, maps.state) == (302, 409, "approved")
    assert (installation.integration.slug, installation.integration.enabled) == ("maps", False)
    assert list(installation.groups.all()) == [support]
    actions = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    decided = ["server.propose", "server.approve"]
    assert list(actions) == [*decided, "integration.restricted", "install.start"]


def test_declined_proposal_has_a_note_and_installs_nothing(
    as_admin: Client, maps: ServerProposal
) -> None:
    as_admin.post(f"{PROPOSALS_PATH}{maps.pk}/", {"decision": "decline", "note": "We have one."})

    html = as_admin.get(f"{PROPOSALS_PATH}?show=answered").content.decode()
    assert "We have one." in html
    assert not Integration.objects.exists()


def test_name_that_is_taken_leaves_the_proposal_open(
    as_admin: Client, maps: ServerProposal
) -> None:
    IntegrationFactory.create(slug="maps")

    answer = as_admin.post(f"{PROPOSALS_PATH}{maps.pk}/", {"decision": "install"})

    maps.refresh_from_db()
    assert (answer.status_code, maps.state) == (409, "open")
