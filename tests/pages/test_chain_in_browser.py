"""The chain in a browser: on approvals, the account page and in the audit log."""

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from acl.keys.lifecycle import create_key
from acl.models import AuditEntry
from catalog.models import Capability
from discovery.models import Call
from tests.factories import waiting_call
from tests.pages.conftest import sign_in
from tests.screens.looking import LONG, WIDE_AND_NARROW, show_in, troubles

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


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
