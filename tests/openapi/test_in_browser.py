"""A newcomer's way from "Add" to the first call, by keyboard only.

In a file of its own: once a browser has run, an event loop counts as running, and what a module's
fixtures write is not visible to other tests.
"""

from uuid import UUID

import pytest
from django.contrib.auth.models import Group, User
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from acl.rights.caller_lookup import Caller
from discovery.calls.execution import execute
from discovery.models import Call
from marketplace.additions.worker import look_at
from marketplace.models import Addition
from tests.calls.worker import run_call
from tests.openapi.mock import MockApi
from tests.pages.conftest import admin as admin
from tests.pages.conftest import page as page
from tests.pages.conftest import sign_in
from tests.pages.conftest import support as support
from tests.worker_parts import in_worker, install_only_one

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("embedder"),
]


def press_on(page: Page, role: str, name: str, key: str = "Enter") -> None:
    """Go on with Tab until the named element has the focus, and press a key."""
    wanted = page.get_by_role(role, name=name, exact=True).first  # type: ignore[arg-type]
    expect(wanted).to_be_visible()
    for _ in range(120):
        if wanted.evaluate("element => element === document.activeElement"):
            break
        page.keyboard.press("Tab")
    expect(wanted).to_be_focused()
    page.keyboard.press(key)


def test_newcomer_adds_an_api_and_calls_it_by_keyboard(
    page: Page, admin: User, support: Group, live_server: LiveServer, api: MockApi
) -> None:
    sign_in(page, admin, live_server)
    page.goto("/marketplace/")
    press_on(page, "link", "Add")
    expect(page.get_by_label("Address, package, command or document")).to_be_focused()
    page.keyboard.insert_text(f"{api.url}/openapi.json")
    press_on(page, "button", "Add")
    expect(page.get_by_text("Inspecting it.")).to_be_visible()

    in_worker(lambda: look_at(Addition.objects.get().pk))
    expect(page.get_by_text("An API with 5 operations (OpenAPI 3.0).")).to_be_visible()
    press_on(page, "link", "Continue")
    expect(page.get_by_text("5 of 5 operations will be installed.")).to_be_visible()
    page.get_by_role("searchbox", name="Words in name, path or summary").focus()
    page.keyboard.insert_text("book")
    expect(page.get_by_text("4 of 5 operations will be installed.")).to_be_visible()
    page.get_by_role("textbox", name="KEY").focus()
    page.keyboard.insert_text("s3cret-key")
    expect(page.get_by_role("checkbox", name=support.name)).to_be_checked()  # the only group
    press_on(page, "button", "Install")
    expect(page.get_by_role("heading", name="Town library")).to_be_visible()
    in_worker(install_only_one)
    expect(page.get_by_role("heading", name="Town library is ready")).to_be_visible()
    caller = Caller(admin.pk, support.pk)
    admin.groups.add(support)

    def call_it() -> None:
        done = execute(caller=caller, full_name="town-library__list_books", arguments={"page": 1})
        run_call(UUID(done.call_id))

    in_worker(call_it)

    assert Call.objects.get().state == Call.State.COMPLETED
    assert api.asked[0].headers["x-key"] == "s3cret-key"
