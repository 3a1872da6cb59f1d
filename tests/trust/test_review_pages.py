"""The review pages of definitions, for admins."""

from typing import Any

import pytest
from django.test import Client

from acl.models import AuditEntry
from catalog.models import Capability, Definition, Embedding
from catalog.registration.definition_review import seen_digest
from marketplace.models import Installation
from tests.trust.reviewed_server import POISON, READ, WRITE, World, changed

pytestmark = pytest.mark.django_db
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
