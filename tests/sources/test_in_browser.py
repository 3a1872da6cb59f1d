"""The pages of sources in a browser, in all widths and themes, and while a source is read."""

from threading import Thread

import pytest
from django.contrib.auth.models import User
from django.db import connections
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from marketplace.models import Source
from marketplace.sources.refresh import refresh_source
from tests.pages.conftest import (
    admin as admin,
)
from tests.pages.conftest import (
    page as page,
)
from tests.pages.conftest import (
    sign_in,
)
from tests.pages.conftest import (
    support as support,
)
from tests.sources.places import Place

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LONG = "Rechtsschutzversicherungsgesellschaftsbeitragsrückerstattungsverzeichnis"


def read(pk: int) -> None:
    """Read a source in a thread, since the browser's event loop runs in this one."""
    refresh_source(pk)
    connections.close_all()


def test_source_is_added_and_read(
    page: Page, admin: User, live_server: LiveServer, server: Place
) -> None:
    sign_in(page, admin, live_server)
    page.goto("/marketplace/sources/")
    page.get_by_role("link", name="Add your first source").click()
    page.get_by_role("link", name="Superpowers, skills").click()
    expect(page.get_by_label("Location")).to_have_value("https://github.com/obra/superpowers")
    page.get_by_role("radio", name="Folder of skills").check()
    page.get_by_label("Location").fill("/etc")
    page.get_by_role("button", name="Add source").click()
    expect(page.get_by_text("must be below a folder")).to_be_visible()
    page.get_by_role("radio", name="Client configuration").check()
    page.get_by_label("Location").fill(server.at("/mcp.json"))
    page.get_by_role("button", name="Add source").click()
    expect(page.get_by_text("queued", exact=True)).to_be_visible()

    worker = Thread(target=read, args=[Source.objects.get().pk])
    worker.start()
    worker.join()

    expect(page.get_by_text("failed", exact=True)).to_be_visible()
    expect(page.get_by_text("Nothing was found at this address.")).to_be_visible()
