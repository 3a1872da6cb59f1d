"""Ten daily jobs by keyboard, from Today to their ends: what they take is counted.

Language, width and theme change from job to job. The long tests walk three times, so that each job
is done in each setting.
"""

from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Literal

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from acl.keys.lifecycle import create_key
from acl.models import AccessRequest, Invitation
from catalog.models import Capability, Embedding, EmbeddingModel
from discovery.models import Call
from marketplace.additions.worker import look_at
from marketplace.models import Addition
from tests.calls.worker import run_call
from tests.catalog.conftest import embedder as embedder
from tests.examples import IS_LONG
from tests.factories import CapabilityFactory, IntegrationFactory, UserFactory, waiting_call
from tests.openapi.conftest import api as api
from tests.openapi.mock import MockApi
from tests.pages.conftest import sign_in
from tests.pages.hand import Hand, Setting
from tests.worker_parts import in_worker, install_only_one

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("embedder"),
]
WINDOWS: tuple[tuple[int, Literal["light", "dark"]], ...] = (
    (1440, "light"),
    (390, "dark"),
    (390, "light"),
    (1440, "dark"),
)
SETTINGS = tuple(
    Setting(language, *window) for window in WINDOWS for language in ("en", "de", "es")
)
WALKS = range(len(SETTINGS)) if IS_LONG else range(1)
# What lab/benchmarks.md says, too.
CLICKS = {
    "add and try a tool": 9,
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
        hand.see("%(count)s call approved.", "%(count)s calls approved.", count=13)


def rotate_a_key(hand: Hand) -> None:
    with hand.job("rotate a key"):
        hand.visit("Keys")
        hand.press("link", 'Replace<span class="unseen"> %(name)s</span>', name="Backend")
        hand.press("button", "Create new key")
        expect(hand.page.locator("#raw-key")).to_be_visible()


def take_a_leaver_out(hand: Hand) -> None:
    with hand.job("take a leaver out"):
        hand.visit("People")
        hand.press("link", "bob")
        hand.press("link", "Deactivate")
        hand.press("button", "Deactivate")
        hand.see("%(user)s was deactivated and signed out everywhere.", user="bob")
    assert not User.objects.get(username="bob").is_active


def invite_thirty_people(hand: Hand) -> None:
    with hand.job("invite 30 people"):
        hand.visit("Access")
        hand.press("link", "Groups")
        hand.press("link", "Support")
        hand.press("link", "Add people")
        addresses = "\n".join(f"new-{number}@example.com" for number in range(30))
        hand.fill("People", addresses, pasted=True)
        hand.press("button", "Review people")
        hand.see("%(n)s address has no account", "%(n)s addresses have no account", n=30)
        hand.press("button", "Add people")
        one, many = ("%(n)s person invited to %(group)s", "%(n)s people invited to %(group)s")
        hand.see(one, many, n=30, group="Support")
    assert Invitation.objects.count() == 30


def make_a_group(hand: Hand) -> None:
    with hand.job("new group with three integrations"):
        hand.visit("Access")
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
        hand.press("link", "Answer request", of="alice")
        grant = 'Grant to %(person)s<span class="unseen">: %(tool)s</span>'
        hand.press("button", grant, person="alice", tool="jira__open_ticket")
        hand.see("Request by %(user)s granted.", user="alice")
    assert AccessRequest.objects.get().state == "granted"


def find_why_a_tool_is_missing(hand: Hand) -> None:
    with hand.job("find why a tool is missing and give it"):
        hand.visit("Access")
        hand.press("link", "Explain")
        hand.fill("Person", "bob")
        hand.fill("Tool", "jira__open_ticket")
        hand.press("button", "Explain access")
        hand.press("button", "Review fix")
        hand.press("button", "Save %(n)s change", n=1)
        hand.see("%(n)s change saved. It applies from the next request.", n=1)


def add_and_try_a_tool(hand: Hand, api: MockApi) -> None:
    with hand.job("add and try a tool"):
        hand.visit("Marketplace")
        hand.press("link", "Add")
        field = "Address, package, command or document"
        hand.fill(field, f"{api.url}/openapi.json", pasted=True)
        hand.press("button", "Add")
        hand.see("Inspecting it. This takes a few seconds.")
        in_worker(lambda: look_at(Addition.objects.get().pk))
        hand.press("link", "Continue")
        hand.fill("KEY", "s3cret-key", pasted=True)
        hand.press("button", "Install")
        hand.see("Installing <bdi>%(title)s</bdi>", title="Town library")
        in_worker(install_only_one)
        hand.see("<bdi>%(title)s</bdi> is ready", title="Town library")
        hand.press("link", "Try it", of="List the books")
        hand.press("button", "Run tool")
        hand.page.wait_for_url("**/try/?call=*")
        in_worker(lambda: run_call(Call.objects.latest("created_at").pk))
        hand.see("completed")


def find_failed_calls(hand: Hand) -> None:
    with hand.job("find last week's failed calls of one person"):
        hand.visit("Calls")
        hand.fill("Person", "alice")
        hand.go_to(hand.field("State"))
        hand.page.keyboard.type(hand.say("failed").pattern[:4])
        hand.count(keys=4)
        hand.go_to(hand.field("From"))
        hand.page.keyboard.type(f"{timezone.now() - timedelta(days=7):%m%d%Y}")
        hand.page.keyboard.press("Tab")
        hand.count(keys=9, characters=8)
        expect(hand.page.locator("a[id^='call-']")).to_have_count(1)
        hand.go_to(hand.page.locator("a[id^='call-']"))
        hand.page.keyboard.press("Enter")
        hand.see("Arguments and result are private to the person who made the call.")


def move_the_set_up(hand: Hand, folder: Path) -> None:
    """Export, and apply to what is the same: nothing is left to change."""
    path = folder / "pegboard.yaml"
    said = StringIO()
    in_worker(lambda: call_command("export", str(path), verbosity=0))
    in_worker(lambda: call_command("apply", str(path), dry_run=True, stdout=said))
    assert "Nothing to change." in said.getvalue()
    typed = len("manage.py export pegboard.yaml") + len("manage.py apply pegboard.yaml") + 2
    hand.note("move the set-up to another installation", characters=typed)


@pytest.mark.parametrize("first", WALKS)
def test_ten_jobs_take_few_clicks(
    page: Page, office: User, live_server: LiveServer, api: MockApi, tmp_path: Path, first: int
) -> None:
    sign_in(page, office, live_server)
    hand = Hand(page, SETTINGS[first:] + SETTINGS[:first])

    add_and_try_a_tool(hand, api)
    invite_thirty_people(hand)
    make_a_group(hand)
    approve_thirteen_calls(hand)
    find_why_a_tool_is_missing(hand)
    answer_a_request(hand)
    find_failed_calls(hand)
    rotate_a_key(hand)
    take_a_leaver_out(hand)
    move_the_set_up(hand, tmp_path)

    print(hand.table())  # noqa: T201
    assert {job.name: job.clicks - job.menus for job in hand.done} == CLICKS
    told = Path("lab/benchmarks.md").read_text("utf-8")
    assert [job for job, clicks in CLICKS.items() if f"| {job} | {clicks} |" not in told] == []
