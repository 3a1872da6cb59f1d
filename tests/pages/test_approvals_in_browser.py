"""Approvals in a browser: from the count in the navigation to an approval; all states."""

import pytest
from django.contrib.auth.models import User
from django.db.models.functions import Now
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from catalog.models import Capability
from discovery.calls.arguments import hash_of, serialize_arguments
from discovery.models import Call
from tests.factories import waiting_call
from tests.pages.conftest import sign_in
from tests.screens.looking import LONG, WIDE_AND_NARROW, show_in, troubles

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


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
