"""Ten daily jobs by keyboard, from Today to their ends: what they take is counted."""

from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from acl.keys.key_lifecycle import create_key
from acl.models import AccessRequest, Invitation
from catalog.models import Capability, Embedding, EmbeddingModel
from discovery.models import Call
from marketplace.additions.addition_worker import look_at
from marketplace.models import Addition
from tests.calls.worker import run_call
from tests.catalog.conftest import embedder as embedder
from tests.examples import IS_LONG
from tests.factories import CapabilityFactory, IntegrationFactory, UserFactory, waiting_call
from tests.openapi.conftest import api as api
from tests.openapi.mock import MockApi
from tests.pages.conftest import sign_in
from tests.pages.hand import Hand
from tests.worker_parts import in_worker, install_only_one

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("embedder"),
]
# Texts in German, for a phone.
GERMAN = {
    "Select all calls": "Alle Aufrufe auswählen",
    "Approve selected calls": "Ausgewählte Aufrufe genehmigen",
    "13 calls approved.": "13 Aufrufe genehmigt.",
    "Replace Backend": "Ersetzen : Backend",
    "Create new key": "Neuen Schlüssel erstellen",
    "Deactivate": "Deaktivieren",
    "bob was deactivated": "bob wurde deaktiviert",
}
# What docs/benchmarks.md says, too.
CLICKS = {
    "add and try a tool": 10,
    "move the set-up to another installation": 0,
    "invite 30 people": 7,
    "new group with three integrations": 8,
    "approve 13 calls": 2,
    "find why a tool is missing and give it": 7,
    "answer a request": 2,
    "find last week's failed calls of one person": 5,
    "rotate a key": 3,
    "take a leaver out": 4,
}


@pytest.fixture
def office(
    support: Group, alice: User, admin: User, gmail: Capability, calendar: Capability
) -> User:
    """Thirteen calls that wait, a key, a leaver, last week's calls, and a tool nobody has."""
    for number in range(13):
        waiting_call(alice, support, gmail, f"Dear {number}")
    create_key(by=admin, name="Backend", group=support, scopes=["select"], owner=alice)
    UserFactory.create(username="bob", groups=[support])
    jira = IntegrationFactory.create(slug="jira", title="Jira", kind="builtin")
    CapabilityFactory.create(
        integration=jira,
        action="open_ticket",
        display_name="Open a ticket",
        description="Open a ticket for a problem.",
    )
    AccessRequest.objects.create(user=alice, group=support, wish="Open a ticket")
    at = timezone.now() - timedelta(days=3)
    call = waiting_call(alice, support, gmail, "x")
    Call.objects.filter(pk=call.pk).update(
        state="failed", needs_approval=False, created_at=at, started_at=at, ended_at=at
    )
    # The factories' vectors are of a model that cannot embed what an install adds.
    Embedding.objects.all().delete()
    EmbeddingModel.objects.all().delete()
    return admin


def approve_thirteen_calls(hand: Hand) -> None:
    with hand.job("approve 13 calls"):
        hand.press("link", "Select all calls")
        expect(hand.page.get_by_role("checkbox", checked=True)).to_have_count(13)
        hand.press("button", "Approve selected calls")
        expect(hand.text("13 calls approved.")).to_be_visible()


def rotate_a_key(hand: Hand, start: str = "/today/") -> None:
    with hand.job("rotate a key", start):
        if start == "/today/":
            hand.press("link", "Keys")
        hand.press("link", "Replace Backend")
        hand.press("button", "Create new key")
        expect(hand.page.locator("#raw-key")).to_be_visible()


def take_a_leaver_out(hand: Hand, start: str = "/today/") -> None:
    with hand.job("take a leaver out", start):
        if start == "/today/":
            hand.press("link", "People")
        hand.press("link", "bob")
        hand.press("link", "Deactivate")
        hand.press("button", "Deactivate")
        expect(hand.text("bob was deactivated")).to_be_visible()


def invite_thirty_people(hand: Hand) -> None:
    with hand.job("invite 30 people"):
        hand.press("link", "Access")
        hand.press("link", "Groups")
        hand.press("link", "Support")
        hand.press("link", "Add people")
        addresses = "\n".join(f"new-{number}@example.com" for number in range(30))
        hand.fill("People", addresses, pasted=True)
        hand.press("button", "Review people")
        expect(hand.page.get_by_text("30 addresses have no account")).to_be_visible()
        hand.press("button", "Add people")
        expect(hand.page.get_by_text("30 people invited to Support")).to_be_visible()
    assert Invitation.objects.count() == 30


def make_a_group(hand: Hand) -> None:
    with hand.job("new group with three integrations"):
        hand.press("link", "Access")
        hand.press("link", "Groups")
        hand.press("link", "New group")
        hand.fill("Name", "Sales")
        for title in ("Calendar", "Gmail", "Jira"):
            hand.press("checkbox", title, "Space")
        hand.press("button", "Create group")
        expect(hand.page.get_by_role("heading", name="Sales")).to_be_visible()
    assert Group.objects.filter(name="Sales").exists()


def answer_a_request(hand: Hand) -> None:
    with hand.job("answer a request"):
        hand.press("link", "Answer request alice")
        hand.press("button", "Grant to alice : jira__open_ticket")
        expect(hand.page.get_by_text("granted").first).to_be_visible()
    assert AccessRequest.objects.get().state == "granted"


def find_why_a_tool_is_missing(hand: Hand) -> None:
    with hand.job("find why a tool is missing and give it"):
        hand.press("link", "Access")
        hand.press("link", "Explain")
        hand.fill("Person", "bob")
        hand.fill("Tool", "jira__open_ticket")
        hand.press("button", "Explain access")
        hand.press("button", "Review fix")
        hand.press("button", "Save 1 change")
        expect(hand.page.get_by_text("1 change saved")).to_be_visible()


def add_and_try_a_tool(hand: Hand, api: MockApi) -> None:
    with hand.job("add and try a tool"):
        hand.press("link", "Marketplace")
        hand.press("link", "Add")
        field = "Address, package, command or document"
        hand.fill(field, f"{api.url}/openapi.json", pasted=True)
        hand.press("button", "Add")
        expect(hand.page.get_by_text("Pegboard looks at what it is")).to_be_visible()
        in_worker(lambda: look_at(Addition.objects.get().pk))
        hand.press("link", "Continue")
        hand.fill("KEY", "s3cret-key", pasted=True)
        hand.press("checkbox", "Support", "Space")
        hand.press("button", "Install")
        expect(hand.page.get_by_role("heading", name="Installing Town library")).to_be_visible()
        in_worker(install_only_one)
        expect(hand.page.get_by_role("heading", name="Town library is ready")).to_be_visible()
        hand.press("link", "Try it : List the books")
        hand.press("button", "Run tool")
        hand.page.wait_for_url("**/try/?call=*")
        in_worker(lambda: run_call(Call.objects.latest("created_at").pk))
        expect(hand.page.get_by_text("completed", exact=True)).to_be_visible()


def find_failed_calls(hand: Hand) -> None:
    with hand.job("find last week's failed calls of one person"):
        hand.press("link", "Calls")
        hand.fill("Person", "alice")
        hand.go_to(hand.page.get_by_label("State", exact=True))
        hand.page.keyboard.type("Fail")
        hand.count(keys=4)
        hand.go_to(hand.page.get_by_label("From", exact=True))
        hand.page.keyboard.type(f"{timezone.now() - timedelta(days=7):%m%d%Y}")
        hand.page.keyboard.press("Tab")
        hand.count(keys=9, characters=8)
        expect(hand.page.get_by_text("1 call, newest first")).to_be_visible()
        hand.go_to(hand.page.locator("a[id^='call-']"))
        hand.page.keyboard.press("Enter")
        expect(hand.page.get_by_text("Arguments and result belong to the person")).to_be_visible()


def move_the_set_up(hand: Hand, folder: Path) -> None:
    """Export, and apply to what is the same: nothing is left to change."""
    path = folder / "pegboard.yaml"
    said = StringIO()
    in_worker(lambda: call_command("export", str(path)))
    in_worker(lambda: call_command("apply", str(path), dry_run=True, stdout=said))
    assert "Nothing to change." in said.getvalue()
    typed = len("manage.py export pegboard.yaml") + len("manage.py apply pegboard.yaml") + 2
    hand.note("move the set-up to another installation", characters=typed)


def test_ten_jobs_take_few_clicks(
    page: Page, office: User, live_server: LiveServer, api: MockApi, tmp_path: Path
) -> None:
    sign_in(page, office, live_server)
    hand = Hand(page)

    add_and_try_a_tool(hand, api)
    move_the_set_up(hand, tmp_path)
    invite_thirty_people(hand)
    make_a_group(hand)
    approve_thirteen_calls(hand)
    find_why_a_tool_is_missing(hand)
    answer_a_request(hand)
    find_failed_calls(hand)
    rotate_a_key(hand)
    take_a_leaver_out(hand)

    print(hand.table())  # noqa: T201
    assert {job.name: job.clicks for job in hand.done} == CLICKS
    told = Path("docs/benchmarks.md").read_text("utf-8")
    assert [job for job, clicks in CLICKS.items() if f"| {job} | {clicks} |" not in told] == []


@pytest.mark.skipif(not IS_LONG, reason="the same pages as above: `make test-long`")
def test_the_shortest_jobs_in_german_on_a_phone(
    page: Page, office: User, live_server: LiveServer
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    page.set_extra_http_headers({"Accept-Language": "de"})
    sign_in(page, office, live_server)
    hand = Hand(page, GERMAN)

    approve_thirteen_calls(hand)
    rotate_a_key(hand, "/keys/")
    take_a_leaver_out(hand, "/people/")

    assert [job.clicks for job in hand.done] == [2, 2, 3]
