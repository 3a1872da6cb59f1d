"""Connecting an assistant in a browser: its policy lets the code go to the client, keys suffice."""

import pytest
from django.contrib.auth.models import User
from django.utils.http import urlencode
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from acl.models import AuthorizationCode
from acl.oauth._registration import register_client
from catalog.models import Capability
from tests.pages.conftest import sign_in
from tests.screens.looking import serious

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_code_is_sent_to_the_clients_own_machine(
    page: Page, alice: User, live_server: LiveServer
) -> None:
    sign_in(page, alice, live_server)
    # Another origin than the pages', which are at localhost.
    callback = live_server.url.replace("localhost", "127.0.0.1") + "/livez"
    client = register_client(name="Claude", redirect_uris=[callback])
    asked = {
        "response_type": "code", "client_id": client.client_id, "redirect_uri": callback,
        "code_challenge": "x" * 43, "code_challenge_method": "S256", "state": "s1",
    }  # fmt: skip
    page.goto(f"/oauth/authorize?{urlencode(asked)}")
    expect(page.get_by_role("heading")).to_have_text("Connect Claude?")
    assert serious(page) == []

    page.get_by_role("button", name="Connect").press("Enter")

    page.wait_for_url(f"{callback}?code=*")
    assert "state=s1" in page.url
    assert AuthorizationCode.objects.get().person == alice


def test_client_and_address_are_chosen_by_keyboard(alices_page: Page, gmail: Capability) -> None:
    page = alices_page
    gmail.integration.kind, gmail.integration.transport = "mcp", "http"
    gmail.integration.save()
    page.goto("/tools/connect/")

    page.get_by_role("link", name="Codex").press("Enter")
    expect(page.locator("#setup-text")).to_contain_text("[mcp_servers.pegboard]")
    expect(page.get_by_role("link", name="Codex")).to_be_focused()

    page.get_by_label("Tools", exact=True).select_option(label="Gmail")
    expect(page.locator("#setup-text")).to_contain_text("[mcp_servers.pegboard-gmail]")
    assert serious(page) == []
