"""The page of the API's documentation: in Pegboard's theme, with a way back."""

import os
from collections import Counter
from pathlib import Path

import pytest
from drf_spectacular.generators import SchemaGenerator
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_documentation_follows_the_theme_and_leads_back(
    page: Page, live_server: LiveServer
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    page.goto(f"{live_server.url}/api/docs/")
    root = page.locator("html")

    _open(page, "Selection")
    expect(page.get_by_text("/api/v1/select", exact=True)).to_be_visible()
    expect(root).to_have_class("dark-mode")
    _keep(page, "dark")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.emulate_media(color_scheme="light")
    expect(root).not_to_have_class("dark-mode")
    page.evaluate("localStorage.setItem('theme', 'dark')")
    page.reload()
    expect(root).to_have_class("dark-mode")
    page.evaluate("localStorage.removeItem('theme')")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.reload()  # the address names the open section
    expect(page.get_by_text("/api/v1/select", exact=True)).to_be_visible()
    _keep(page, "light")

    page.get_by_role("banner").get_by_role("link", name="Pegboard").click()
    page.wait_for_url("**/sign-in/**")


def test_every_operation_is_in_its_section(page: Page, live_server: LiveServer) -> None:
    schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    counts = Counter(
        operation["tags"][0] for path in schema["paths"].values() for operation in path.values()
    )
    page.goto(f"{live_server.url}/api/docs/")

    expect(page.locator(".opblock-tag")).to_have_count(len(counts))
    for tag, count in counts.items():
        _open(page, tag)
        expect(page.locator(".opblock")).to_have_count(count)
        _open(page, tag)  # and folds it again


def _open(page: Page, section: str) -> None:
    page.locator(f"[data-tag='{section}']").click()


def _keep(page: Page, name: str) -> None:
    if folder := os.environ.get("PEGBOARD_SCREENS"):
        page.screenshot(path=Path(folder) / f"api-docs-{name}.png")
