"""Access requests by people, the inbox and its answers, and suggested grants."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client
from django.utils.timezone import localtime
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from acl.models import AccessRequest, AuditEntry, Space
from acl.rights.access_requests import MOST_OPEN, RequestAnswered, decline_request, grant_request
from acl.rights.caller_lookup import Caller
from catalog.access.grant_suggestions import suggest_grants
from catalog.models import Capability, CapabilityUserPermission, Integration, Rule
from catalog.registration.embedding_models import register_configured_model
from discovery.select.helping_offers import rank_unheld
from tests.factories import CapabilityFactory, IntegrationFactory, UserFactory, give, lay_down
from tests.pages.access_changes import may_use, save
from tests.pages.conftest import sign_in
from tests.sessions import session_of


@pytest.fixture
def jira(db: None) -> Capability:
    return CapabilityFactory.create(integration__slug="jira", action="search")


@pytest.fixture
def wish(alice: User, support: Group) -> AccessRequest:
    return AccessRequest.objects.create(user=alice, group=support, wish="Search tickets")


def test_open_requests_are_counted_in_the_rail(as_admin: Client, wish: AccessRequest) -> None:
    text = as_admin.get("/tools/").content.decode()

    assert '1<span class="unseen"> open request<' in " ".join(text.split())


def test_nobody_else_sees_how_many_wait(as_alice: Client, wish: AccessRequest) -> None:
    assert "open request" not in as_alice.get("/tools/").content.decode()


def test_the_inbox_has_open_ones_and_answered_ones(
    as_admin: Client, wish: AccessRequest, alice: User, support: Group
) -> None:
    fly = AccessRequest.objects.create(user=alice, group=support, wish="Fly")
    decline_request(by=alice, request=fly, note="No wings")

    opened = as_admin.get("/access/requests/").content.decode()
    answered = as_admin.get("/access/requests/?show=answered").content.decode()

    assert "Search tickets" in opened
    assert "Fly" not in opened
    assert "Fly" in answered
    assert "Search tickets" not in answered


def test_requests_are_searched_by_words_and_by_name(
    as_admin: Client, wish: AccessRequest, support: Group
) -> None:
    bob = UserFactory.create(username="bob", groups=[support])
    other = AccessRequest.objects.create(user=bob, group=support, wish="Fly")

    for words, found in (("tickets", [wish]), ("bob", [other]), ("alice tickets", [wish])):
        assert list(as_admin.get(f"/access/requests/?q={words}").context["requests"]) == found


def test_an_empty_inbox_says_so(as_admin: Client, support: Group) -> None:
    assert "No open requests" in as_admin.get("/access/requests/").content.decode()


@pytest.mark.parametrize("whom", ["user", "group"])
def test_granting_gives_and_answers_at_once(
    as_admin: Client, wish: AccessRequest, alice: User, support: Group, jira: Capability, whom: str
) -> None:
    bob = UserFactory.create(username="bob", groups=[support])

    response = as_admin.post(
        f"/access/requests/{wish.pk}/",
        {"target": f"capability-{jira.pk}", "whom": whom, "note": "Have fun"},
    )

    wish.refresh_from_db()
    assert response.status_code == 302
    assert (wish.state, wish.note) == ("granted", "Have fun")
    assert may_use(alice, support, jira)
    assert may_use(bob, support, jira) == (whom == "group")
    actions = set(AuditEntry.objects.values_list("action", flat=True))
    assert {"request.granted", "grant.add"} <= actions


def test_declining_says_why(as_admin: Client, wish: AccessRequest, alice: User) -> None:
    as_admin.post(f"/access/requests/{wish.pk}/", {"decline": "1", "note": "Use the board"})

    client = session_of(alice)
    text = client.get("/tools/requests/").content.decode()

    assert "Use the board" in text
    assert "declined" in text
    entry = AuditEntry.objects.get(action="request.declined")
    assert (entry.by_name, entry.details["note"]) == ("root", "Use the board")


def test_who_answered_and_when_is_kept_and_shown(
    as_admin: Client, wish: AccessRequest, alice: User, admin: User
) -> None:
    before = AccessRequest.objects.get()

    as_admin.post(f"/access/requests/{wish.pk}/", {"decline": "1", "note": "Use the board"})

    wish.refresh_from_db()
    assert (before.answered_by, before.answered_at) == (None, None)
    assert wish.answered_by == admin
    assert wish.answered_at is not None
    when = f'<time datetime="{localtime(wish.answered_at).isoformat()}'
    mine = session_of(alice)
    for client, path in (
        (as_admin, "/access/requests/?show=answered"),
        (as_admin, f"/access/requests/{wish.pk}/"),
        (mine, "/tools/requests/"),
    ):
        text = client.get(path).content.decode()
        assert "Declined by" in text, path
        assert '<span dir="auto">root</span>' in text, path
        assert when in text, path


def test_an_answer_outlives_who_gave_it(
    as_admin: Client, wish: AccessRequest, support: Group
) -> None:
    other = User.objects.create_superuser("olga")
    decline_request(by=other, request=wish, note="No")

    other.delete()

    answered = as_admin.get("/access/requests/?show=answered").content.decode()
    assert "a deleted admin" in answered


def test_declining_without_a_reason_is_refused(as_admin: Client, wish: AccessRequest) -> None:
    response = as_admin.post(f"/access/requests/{wish.pk}/", {"decline": "1", "note": " "})

    wish.refresh_from_db()
    assert response.status_code == 422
    assert "Enter a reason" in response.content.decode()
    assert wish.state == "open"


def test_granting_nothing_is_refused(as_admin: Client, wish: AccessRequest) -> None:
    response = as_admin.post(f"/access/requests/{wish.pk}/", {"whom": "user"})

    wish.refresh_from_db()
    assert response.status_code == 422
    assert wish.state == "open"


def test_the_second_answer_changes_nothing(
    as_admin: Client, wish: AccessRequest, alice: User, support: Group, jira: Capability
) -> None:
    as_admin.post(f"/access/requests/{wish.pk}/", {"decline": "1", "note": "No"})

    response = as_admin.post(
        f"/access/requests/{wish.pk}/", {"target": f"capability-{jira.pk}", "whom": "user"}
    )

    assert response.status_code == 409
    assert "has already been declined" in response.content.decode()
    assert not may_use(alice, support, jira)


def test_an_answer_stays(admin: User, wish: AccessRequest) -> None:
    grant_request(by=admin, request=wish, note="Yes")

    with pytest.raises(RequestAnswered):
        decline_request(by=admin, request=wish, note="No")

    wish.refresh_from_db()
    assert (wish.state, wish.note) == ("granted", "Yes")


def test_a_request_is_stored_and_confirmed(as_alice: Client, alice: User, support: Group) -> None:
    response = as_alice.post("/tools/requests/", {"wish": "Book a meeting room"}, follow=True)

    request = AccessRequest.objects.get()
    assert (request.user, request.group, request.wish) == (alice, support, "Book a meeting room")
    assert "Your request was sent." in response.content.decode()


def test_what_an_address_brings_along_stands_in_the_form_and_is_not_asked_for(
    as_alice: Client,
) -> None:
    page = as_alice.get("/tools/requests/", {"wish": "Time <b>"}).content.decode()

    assert "Time &lt;b&gt;</textarea>" in page
    assert not AccessRequest.objects.exists()


def test_an_empty_request_is_explained_beside_the_field(as_alice: Client) -> None:
    response = as_alice.post("/tools/requests/", {"wish": " "})

    assert response.status_code == 422
    assert "Describe in a few words what you need." in response.content.decode()


def test_the_same_request_twice_is_one(as_alice: Client) -> None:
    for _ in range(2):
        as_alice.post("/tools/requests/", {"wish": "Book a meeting room"})

    assert AccessRequest.objects.count() == 1


def test_nobody_floods_the_admins(as_alice: Client) -> None:
    for number in range(MOST_OPEN + 1):
        response = as_alice.post("/tools/requests/", {"wish": f"Wish {number}"})

    assert AccessRequest.objects.count() == MOST_OPEN
    assert response.status_code == 422


def test_the_requests_of_others_are_not_listed(
    as_alice: Client, admin: User, support: Group
) -> None:
    AccessRequest.objects.create(user=admin, group=support, wish="Everything")

    assert "Everything" not in as_alice.get("/tools/requests/").content.decode()


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
def suggested_wish(alice: User, support: Group) -> AccessRequest:
    return AccessRequest.objects.create(user=alice, group=support, wish=WISH)


def test_the_fitting_tool_is_first_with_the_smallest_grant_and_its_preview(
    as_admin: Client,
    alice: User,
    support: Group,
    rooms: Capability,
    suggested_wish: AccessRequest,
) -> None:
    page = as_admin.get(f"/access/requests/{suggested_wish.pk}/")
    best = page.context["suggestions"][0]
    answer = as_admin.post(
        f"/access/requests/{suggested_wish.pk}/",
        {"target": f"capability-{rooms.pk}", "whom": "user"},
    )

    assert best.capability == rooms
    assert [(shift.people, shift.capabilities) for shift in best.preview.gains] == [
        (("alice",), ("office__book_room",))
    ]
    assert answer.status_code == 302
    assert may_use(alice, support, rooms)
    assert CapabilityUserPermission.objects.count() == 1
    suggested_wish.refresh_from_db()
    assert suggested_wish.state == "granted"


def test_a_preview_grants_nothing(
    as_admin: Client,
    alice: User,
    support: Group,
    rooms: Capability,
    suggested_wish: AccessRequest,
) -> None:
    as_admin.get(f"/access/requests/{suggested_wish.pk}/")

    assert not may_use(alice, support, rooms)
    assert not CapabilityUserPermission.objects.exists()


def test_what_the_person_may_use_already_and_what_a_rule_denies_is_not_suggested(
    alice: User, support: Group, rooms: Capability, suggested_wish: AccessRequest
) -> None:
    caller = Caller(alice.pk, support.pk)
    before = rank_unheld(caller, WISH)
    lay_down(Rule.Effect.DENY, rooms, Space.objects.get(group=support, parent=None))
    denied = suggest_grants(suggested_wish)
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
    as_alice: Client, rooms: Capability, suggested_wish: AccessRequest
) -> None:
    sent = as_alice.post("/tools/requests/", {"suggested_wish": f"{WISH}, please"}, follow=True)
    pages = [as_alice.get(path) for path in ("/tools/requests/", "/today/")]

    for page in (sent, *pages):
        assert "book_room" not in page.content.decode()
        assert "Book a room" not in page.content.decode()
    assert as_alice.get(f"/access/requests/{suggested_wish.pk}/").status_code == 404


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
    suggested_wish: AccessRequest,
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
