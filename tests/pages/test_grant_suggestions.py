"""Grants suggested for a request in words, and the fix on Explain."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from acl.models import AccessRequest, Space
from acl.rights.caller_lookup import Caller
from catalog.access.grant_suggestions import suggest_grants
from catalog.models import Capability, CapabilityUserPermission, Integration, Rule
from catalog.registration.embedding_models import register_configured_model
from discovery.select.unheld_tools import rank_unheld
from tests.factories import CapabilityFactory, IntegrationFactory, give, lay_down
from tests.pages.access_changes import may_use, save
from tests.pages.conftest import sign_in

WISH = "I need to book meeting rooms"


@pytest.fixture
def rooms(db: None) -> Capability:
    """Room booking, beside unrelated tools, all granted to nobody."""
    register_configured_model()
    office = IntegrationFactory.create(slug="office", title="Office", kind="builtin")
    made = CapabilityFactory.create(
        integration=office, action="book_room", display_name="Book a room", side_effect="write",
        description="Reserve a meeting room for a time.",
    )  # fmt: skip
    for action, text in (
        ("send_fax", "Send a fax to a number."),
        ("pay_invoice", "Pay an invoice by bank transfer."),
        ("water_plants", "Water the plants on a floor."),
    ):
        CapabilityFactory.create(integration=office, action=action, description=text)
    call_command("embed_pending")
    return made


@pytest.fixture
def wish(alice: User, support: Group) -> AccessRequest:
    return AccessRequest.objects.create(user=alice, group=support, wish=WISH)


def test_the_fitting_tool_is_first_with_the_smallest_grant_and_its_preview(
    as_admin: Client, alice: User, support: Group, rooms: Capability, wish: AccessRequest
) -> None:
    page = as_admin.get(f"/access/requests/{wish.pk}/")
    best = page.context["suggestions"][0]
    answer = as_admin.post(
        f"/access/requests/{wish.pk}/", {"target": f"capability-{rooms.pk}", "whom": "user"}
    )

    assert best.capability == rooms
    assert [(shift.people, shift.capabilities) for shift in best.preview.gains] == [
        (("alice",), ("office__book_room",))
    ]
    assert answer.status_code == 302
    assert may_use(alice, support, rooms)
    assert CapabilityUserPermission.objects.count() == 1
    wish.refresh_from_db()
    assert wish.state == "granted"


def test_a_preview_grants_nothing(
    as_admin: Client, alice: User, support: Group, rooms: Capability, wish: AccessRequest
) -> None:
    as_admin.get(f"/access/requests/{wish.pk}/")

    assert not may_use(alice, support, rooms)
    assert not CapabilityUserPermission.objects.exists()


def test_what_the_person_may_use_already_and_what_a_rule_denies_is_not_suggested(
    alice: User, support: Group, rooms: Capability, wish: AccessRequest
) -> None:
    caller = Caller(alice.pk, support.pk)
    before = rank_unheld(caller, WISH)
    lay_down(Rule.Effect.DENY, rooms, Space.objects.get(group=support, parent=None))
    denied = suggest_grants(wish)
    Rule.objects.all().delete()
    give(rooms, alice)
    held = rank_unheld(caller, WISH)

    assert before[0] == rooms.pk
    assert rooms not in [one.capability for one in denied]
    assert rooms.pk not in held


@pytest.mark.parametrize("what", ["off", "quarantined", "blocked"])
def test_what_a_grant_could_not_give_is_not_suggested(
    alice: User, support: Group, rooms: Capability, what: str
) -> None:
    if what == "off":
        Integration.objects.update(enabled=False)
    if what == "quarantined":
        Integration.objects.update(state="quarantined")
    if what == "blocked":
        Capability.objects.filter(pk=rooms.pk).update(ai_access="blocked")

    assert rooms.pk not in rank_unheld(Caller(alice.pk, support.pk), WISH)


def test_without_anything_to_grant_nothing_is_suggested(
    as_admin: Client, alice: User, support: Group
) -> None:
    odd = AccessRequest.objects.create(user=alice, group=support, wish="Zwiebelkuchen \x1f 🧅")

    page = as_admin.get(f"/access/requests/{odd.pk}/")

    assert page.status_code == 200
    assert "Suggested grants" not in page.content.decode()


def test_the_person_learns_no_hidden_name(
    as_alice: Client, rooms: Capability, wish: AccessRequest
) -> None:
    sent = as_alice.post("/tools/requests/", {"wish": f"{WISH}, please"}, follow=True)
    pages = [as_alice.get(path) for path in ("/tools/requests/", "/today/")]

    for page in (sent, *pages):
        assert "book_room" not in page.content.decode()
        assert "Book a room" not in page.content.decode()
    assert as_alice.get(f"/access/requests/{wish.pk}/").status_code == 404


def _explain(client: Client, group: Group, **more: Any) -> Any:
    query = {"user": "alice", "group": group.pk, "capability": "office__book_room", **more}
    return client.get("/access/explain/", query).context["fix"]


def test_explain_offers_the_smallest_change_and_it_works(
    as_admin: Client, alice: User, support: Group, rooms: Capability
) -> None:
    _, sentence, line = _explain(as_admin, support)

    save(as_admin, line)

    assert line == f"grant|user-{alice.pk}|capability-{rooms.pk}||"
    assert "alice" in sentence
    assert may_use(alice, support, rooms)
    assert _explain(as_admin, support) is None


def test_explain_fixes_a_denial_by_a_nearer_rule_or_without_the_denial(
    as_admin: Client, alice: User, support: Group, rooms: Capability
) -> None:
    root = Space.objects.get(group=support, parent=None)
    project = Space.objects.create(group=support, parent=root, name="Project", slug="project")
    lay_down(Rule.Effect.DENY, rooms.integration, root)

    _, _, in_root = _explain(as_admin, support)
    _, _, in_project = _explain(as_admin, support, space=project.pk)

    assert [line.partition("|")[0] for line in in_root.splitlines()] == ["unrule", "grant"]
    assert in_project == f"rule|user-{alice.pk}|capability-{rooms.pk}|space-{project.pk}|2"
    save(as_admin, in_project)
    inside = Capability.objects.usable_by(Caller(alice.pk, support.pk, project.pk))
    assert inside.filter(pk=rooms.pk).exists()


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_a_request_is_answered_by_keyboard_from_today(
    page: Page,
    admin: User,
    alice: User,
    support: Group,
    rooms: Capability,
    wish: AccessRequest,
    live_server: LiveServer,
) -> None:
    sign_in(page, admin, live_server)
    page.goto("/today/")

    page.get_by_role("link", name="Answer request alice").press("Enter")
    expect(page.get_by_role("heading", name="Suggested grants")).to_be_visible()
    page.get_by_role("button", name="Grant to alice").first.press("Enter")

    expect(page.get_by_text("Request by alice granted.")).to_be_visible()
    assert may_use(alice, support, rooms)
    sign_in(page, alice, live_server)
    page.goto("/today/")
    heard = page.get_by_role("region", name="Your requests")
    expect(heard.get_by_text("granted")).to_be_visible()
    expect(heard.get_by_text(WISH)).to_be_visible()
