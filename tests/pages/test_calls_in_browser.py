"""Calls, approvals, keys and the audit log in a browser, by keyboard."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.db.models.functions import Now
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from acl.audit.recorder import record
from acl.keys.lifecycle import create_key, holder_of, revoke_key
from acl.models import ApiKey, AuditEntry
from catalog.models import Capability
from discovery.calls.arguments import hash_of, serialize_arguments
from discovery.calls.log_api import log_streams
from discovery.models import Call
from tests.factories import waiting_call
from tests.pages.conftest import sign_in
from tests.screens.looking import LONG, WIDE_AND_NARROW, serious, show_in, troubles

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def ended(user: User, capability: Capability, *, days: int, state: str) -> Call:
    call = waiting_call(user, user.groups.get(), capability, "x")
    at = timezone.now() - timedelta(days=days)
    Call.objects.filter(pk=call.pk).update(
        state=state, needs_approval=False, created_at=at, started_at=at, ended_at=at
    )
    return call


@pytest.mark.parametrize("places", [0, 2], ids=["told", "polls"])
def test_log_that_is_followed_shows_new_calls_and_keeps_focus(
    alices_page: Page, alice: User, gmail: Capability, places: int
) -> None:
    for _ in range(places):
        log_streams.take(alice.pk)
    first = ended(alice, gmail, days=0, state="completed")
    alices_page.goto("/calls/?live=1")
    link = alices_page.locator(f"[id='call-{first.pk}']")
    link.focus()

    ended(alice, gmail, days=0, state="failed")

    expect(alices_page.get_by_text("2 calls, newest first")).to_be_visible()
    expect(link).to_be_focused()
    for _ in range(places):
        log_streams.give_back(alice.pk)


def test_person_tries_a_tool_from_its_page_through_an_approval_by_keyboard(
    page: Page, admin: User, alice: User, gmail: Capability, live_server: LiveServer
) -> None:
    sign_in(page, alice, live_server)
    page.goto("/tools/gmail__send_email/")
    page.get_by_role("link", name="Try it").focus()
    page.keyboard.press("Enter")
    page.get_by_role("textbox", name="to").focus()
    page.keyboard.type("bob")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Nothing has been run.")).to_be_visible()
    found = []
    for width, theme in WIDE_AND_NARROW:
        show_in(page, width, theme)
        found += troubles(page)
    waiting = page.url

    sign_in(page, admin, live_server)
    page.goto("/approvals/")
    page.get_by_role("link", name="Review call").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Approve call").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("gmail__send_email was approved for alice.")).to_be_visible()
    sign_in(page, alice, live_server)
    page.goto(waiting)

    expect(page.get_by_text("completed", exact=True)).to_be_visible()
    assert Call.objects.get().arguments == {"to": "bob"}
    assert found == []


def test_admin_decides_and_every_state_reads_well(
    page: Page, admin: User, alice: User, gmail: Capability, live_server: LiveServer
) -> None:
    group = admin.groups.get()
    call = waiting_call(alice, group, gmail, "x")
    arguments = {
        "to": LONG,
        "attachments": [{"name": "مرحبا", "pages": list(range(40))}],
        "body": "Dear all\n" + "The release is out. " * 60,
        "empty": "",
    }
    Call.objects.filter(pk=call.pk).update(
        arguments_json=serialize_arguments(arguments), arguments_hash=hash_of(arguments)
    )
    waiting_call(alice, group, gmail, "the other one")
    Call.objects.filter(pk=waiting_call(alice, group, gmail, "gone").pk).update(
        state="unknown", decided_at=Now(), approved_digest="x", ended_at=Now(), note=LONG
    )
    own = waiting_call(admin, group, gmail, "x")
    sign_in(page, admin, live_server)
    found = []
    for path in ("", "?show=decided", "?show=own", "?q=nothing", f"{call.pk}/", f"{own.pk}/"):
        page.goto(f"/approvals/{path}")
        for width, theme in WIDE_AND_NARROW:
            show_in(page, width, theme)
            found += [(path, width, trouble) for trouble in troubles(page)]
    assert found == []

    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto("/tools/")
    page.get_by_role("link", name="Approvals 3 pending calls").click()
    page.get_by_role("link", name="Review call").first.click()
    expect(page.get_by_text(LONG)).to_be_visible()
    page.get_by_label("Note").fill("Go on")
    page.get_by_role("button", name="Approve call").click()
    expect(page.get_by_text("gmail__send_email was approved for alice.")).to_be_visible()
    page.get_by_label("Search by tool or person").press_sequentially("root")
    expect(page.get_by_text("1 pending call")).to_be_visible()
    page.get_by_role("link", name="Decided").click()
    expect(page.get_by_text("Go on")).to_be_visible()
    assert Call.objects.get(pk=call.pk).state == "completed"


def test_chain_reads_well_in_every_width_and_theme(
    page: Page, admin: User, alice: User, gmail: Capability, live_server: LiveServer
) -> None:
    group = admin.groups.get()
    by_key = waiting_call(alice, group, gmail, "by a key")
    key, _ = create_key(by=None, name=LONG, group=group, scopes=["execute"], acts_for_users=True)
    shown = {"key": key, "key_prefix": key.prefix, "key_name": key.name}
    Call.objects.filter(pk=by_key.pk).update(credential="key", actor_kind="key", **shown)
    acted = waiting_call(alice, group, gmail, "as another")
    session = {"credential": "session", "actor_kind": "person", "actor": admin}
    Call.objects.filter(pk=acted.pk).update(**session)
    for_admin = waiting_call(admin, group, gmail, "as the admin")
    Call.objects.filter(pk=for_admin.pk).update(**{**session, "actor": alice})
    AuditEntry.objects.create(
        by=admin,
        by_name="root",
        actor_kind="person",
        credential="session",
        subject_id=alice.pk,
        subject_name=LONG,
        action="call.acted_for",
        target=LONG,
    )
    sign_in(page, admin, live_server)

    found = []
    for path in (
        "/approvals/",
        "/approvals/?show=own",
        f"/approvals/{by_key.pk}/",
        f"/approvals/{acted.pk}/",
        "/account/",
        "/audit/",
    ):
        page.goto(path)
        for width, theme in WIDE_AND_NARROW:
            show_in(page, width, theme)
            found += [(path, width, trouble) for trouble in troubles(page)]

    assert found == []
    page.goto(f"/approvals/{acted.pk}/")
    expect(
        page.get_by_text("You requested this call, so someone else must decide.")
    ).to_be_visible()
    expect(page.get_by_text("Only the requester could approve")).to_be_visible()
    page.goto("/account/")
    expect(page.get_by_text("alice acted on your behalf")).to_be_visible()


@pytest.fixture
def admins_page(page: Page, admin: User, live_server: LiveServer) -> Page:
    sign_in(page, admin, live_server)
    return page


@pytest.fixture
def kept(admin: User, support: Group) -> None:
    """Two keys, one of them revoked: with another change, four audit entries."""
    create_key(by=admin, name="Backend", group=support, scopes=["admin"])
    gone, _ = create_key(by=admin, name="Old", group=support, scopes=["admin"])
    revoke_key(by=admin, key=gone)
    record(by=None, action="x", target="something")


def test_key_is_made_copied_replaced_and_revoked(
    admins_page: Page, support: Group, live_server: LiveServer
) -> None:
    page = admins_page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=live_server.url)
    page.goto("/keys/")
    page.get_by_role("link", name="Create your first key").click()
    page.get_by_label("Name", exact=True).fill("Night reports")
    page.locator('[name=whom][value="account"]').check()
    page.get_by_label("Name of the service account").fill("reports")
    page.get_by_role("button", name="Create key").click()
    page.get_by_role("button", name="Copy key").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert serious(page) == []
    raw = str(page.evaluate("navigator.clipboard.readText()"))
    assert holder_of(raw)

    page.get_by_role("link", name="I have copied the key").click()
    expect(page.get_by_text("service account reports")).to_be_visible()
    page.get_by_role("link", name="Replace Night reports").click()
    page.get_by_label("expires").first.select_option("in an hour")
    page.get_by_role("button", name="Create new key").click()
    expect(page.locator("#raw-key")).not_to_have_text(raw)
    assert holder_of(raw)

    page.goto(f"/keys/{ApiKey.objects.earliest('pk').pk}/revoke/")
    page.get_by_role("button", name="Revoke key").click()
    expect(page.get_by_text("Night reports was revoked.")).to_be_focused()
    assert holder_of(raw) is None


def test_form_asks_only_for_what_the_choice_needs(admins_page: Page, support: Group) -> None:
    admins_page.goto("/keys/new/")

    shown = {}
    for whom in ("users", "owner", "account", "nobody"):
        admins_page.locator(f'[name=whom][value="{whom}"]').check()
        fields = ("owner", "account", "also_users")
        shown[whom] = [one for one in fields if admins_page.locator(f"[name={one}]").is_visible()]

    assert shown == {
        "users": [],
        "owner": ["owner", "also_users"],
        "account": ["account", "also_users"],
        "nobody": [],
    }


def test_log_is_filtered_and_checked_in_place(admins_page: Page, kept: None) -> None:
    page = admins_page
    page.goto("/audit/")

    page.get_by_label("Change").select_option("key.revoked")
    expect(page.locator(".entry")).to_have_count(1)
    expect(page).to_have_url(re.compile("action=key.revoked"))
    page.get_by_role("button", name="Check chain").click()

    expect(page.get_by_text("Verified just now up to entry 4")).to_be_visible()
    expect(page.locator(".entry")).to_have_count(1)
    assert serious(page) == []


def test_key_filter_swaps_the_list(admins_page: Page, kept: None) -> None:
    admins_page.goto("/keys/")

    admins_page.get_by_label("Show").select_option("Revoked")

    expect(admins_page.locator(".key")).to_have_count(1)
    expect(admins_page).to_have_url(re.compile("show=revoked"))
