"""All pages in a browser: axe finds nothing, nothing scrolls sideways, little is loaded.

With PEGBOARD_SCREENS it takes pictures into that folder instead, with a contact sheet; that is
`make screenshots`. PEGBOARD_SCREENS_OF selects pages, PEGBOARD_SCREENS_AT windows, such as
`1440-light,390-dark`, and PEGBOARD_SCREENS_IN a language, such as `de`.
"""

import os
from dataclasses import dataclass
from functools import cache
from gzip import compress
from pathlib import Path
from typing import cast

import pytest
from cryptography.fernet import Fernet
from django.contrib.staticfiles import finders
from django.core.management import call_command
from django.urls import resolve
from playwright.sync_api import Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from marketplace.listings.search import embed_listings
from tests.examples import EACH_OF_ALIKE
from tests.hostile.routes import ADMIN_PAGE, GROUPS_PAGE, OPEN, OWN_PAGE, PAGE, ROUTES, Row
from tests.pages.conftest import (  # noqa: F401 - fixtures
    page,
    sign_in,
)
from tests.screens.looking import bring_axe, scrolls, serious
from tests.screens.pages import ANYTHING, REACHED_ELSEWHERE, SCREENS, Screen
from tests.screens.sheet import WINDOWS, write_sheet
from tests.screens.world import World, build

FOLDER = os.environ.get("PEGBOARD_SCREENS", "")
ONLY = [name for name in os.environ.get("PEGBOARD_SCREENS_OF", "").split(",") if name]
AT = [tuple(one.split("-")) for one in os.environ.get("PEGBOARD_SCREENS_AT", "").split(",") if one]
LANGUAGE = os.environ.get("PEGBOARD_SCREENS_IN", "")
# Colours do not depend on the width, nor the layout on the colours.
AXES = ((1440, "light"), (390, "dark"))
HEIGHTS = {1440: 900, 768: 1024, 390: 844}
MOST = 100_000  # bytes of styles and scripts before the first paint
LOADED = """
performance.getEntriesByType("resource")
  .map((one) => new URL(one.name).pathname.replace("/static/", ""))
  .filter((name) => /[.](css|js)$/.test(name))
"""
# Dialogs that a key opens, with the element to wait for.
OPENED = (
    ("palette", "Control+k", "#palette [role=option]"),
    ("shortcuts", "?", "#shortcuts[open]"),
)
PAGES = (PAGE, GROUPS_PAGE, OWN_PAGE, ADMIN_PAGE, OPEN)
Windows = tuple[tuple[int, str], ...]


@dataclass
class Window:
    """The page, resized and recoloured only where that differs from what it shows."""

    page: Page
    theme: str = ""

    def show(self, width: int, theme: str) -> None:
        size = self.page.viewport_size
        if size is None or size["width"] != width:
            self.page.set_viewport_size({"width": width, "height": HEIGHTS[width]})
        if self.theme != theme:
            self.page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
            self.theme = theme


@pytest.fixture
def world(transactional_db: None, settings: Settings) -> World:
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    made = build()
    if FOLDER:  # with realistic rankings; axe does not need them
        embed_listings()
        call_command("embed_pending")
    return made


@pytest.mark.browser
@pytest.mark.timeout(900)  # a hundred pages, each taking seconds on busy machines
def test_every_page(
    page: Page,  # noqa: F811
    world: World,
    live_server: LiveServer,
    settings: Settings,
) -> None:
    people = {"alice": world.alice, "root": world.root}
    found: list[str] = []
    weights: dict[str, int] = {}
    window = Window(page)
    if not FOLDER:
        bring_axe(page)
    if LANGUAGE:
        page.set_extra_http_headers({"Accept-Language": LANGUAGE})

    for who in ("", *people):
        page.context.clear_cookies()
        if who:
            sign_in(page, people[who], live_server)
        for screen in sorted(_wanted(who), key=_axes):  # so that colours seldom change
            answer = page.goto(screen.path.format_map(world.things))
            if answer is None or answer.status != screen.status:
                found.append(f"{screen.name}: answers {answer and answer.status}")
            weights[screen.name] = sum(map(_transferred, cast(list[str], page.evaluate(LOADED))))
            found += _looked_at(window, screen, _axes(screen))

    for name, keys, within in OPENED:
        page.goto("/tools/")
        page.keyboard.press(keys)
        expect(page.locator(within).first).to_be_visible()
        found += _looked_at(window, Screen(name, "/tools/"), AXES)
    settings.DEBUG = True
    page.goto("/design/")
    found += _looked_at(window, Screen("design", "/design/"), AXES)

    heaviest = max(weights, key=lambda name: weights[name])
    print(f"Heaviest: {heaviest} with {weights[heaviest]:,} bytes")  # noqa: T201
    if FOLDER:
        print(f"Look at {write_sheet(Path(FOLDER), _names())}")  # noqa: T201
    assert found == []
    assert weights[heaviest] < MOST


def test_every_page_has_a_line() -> None:
    looked_at = {resolve("/" + one.path.lstrip("/").split("?")[0].format_map(ANYTHING)).route
                 for one in SCREENS}  # fmt: skip

    pages = {row.route for row in ROUTES if isinstance(row, Row) and _is_page(row)}

    assert pages - looked_at - REACHED_ELSEWHERE == set()


@cache
def _transferred(name: str) -> int:
    """Return a file's compressed size, as sent after collecting static files."""
    path = finders.find(name)
    assert isinstance(path, str)
    return len(compress(Path(path).read_bytes()))


def _wanted(who: str) -> list[Screen]:
    return [one for one in SCREENS if one.who == who and (not ONLY or one.name in ONLY)]


def _names() -> list[str]:
    return [*(one.name for one in SCREENS), *(name for name, _, _ in OPENED), "design"]


def _windows(axes: Windows, width: int) -> Windows:
    """Return all windows in which to look at a page, from the width that it has to the other end.

    Each width is looked at in the colours that axe reads, since the layout depends on none.
    """
    if AT:
        return tuple((int(width), theme) for width, theme in AT)
    if FOLDER:
        return tuple(WINDOWS)
    themes = dict(axes)
    last = axes[-1][1]
    widths = sorted(HEIGHTS, reverse=width > min(HEIGHTS))
    return tuple((one, themes.get(one, last)) for one in widths)


def _axes(screen: Screen) -> Windows:
    """Return the windows in which axe reads the page: the other one for the next page.

    Neighbours in the list are states of one page, of the same parts and the same styles. The page
    of the design system shows all parts, in both.
    """
    return AXES if EACH_OF_ALIKE else (AXES[SCREENS.index(screen) % 2],)


def _looked_at(window: Window, screen: Screen, axes: Windows) -> list[str]:
    """Return the findings on the page, window by window."""
    found = []
    page = window.page  # noqa: F811
    size = page.viewport_size
    for width, theme in _windows(axes, size["width"] if size else 0):
        window.show(width, theme)
        at = f"{screen.name} at {width} {theme}"
        found += [f"{at}: {trouble}" for trouble in scrolls(page)]
        if (width, theme) in axes and not FOLDER:
            found += [f"{at}: {trouble}" for trouble in serious(page)]
            if page.evaluate("document.querySelectorAll('h1').length") != 1:
                found.append(f"{at}: has not one heading")
        if FOLDER:
            Path(FOLDER).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=f"{FOLDER}/{screen.name}-{width}-{theme}.png", full_page=True)
    return found


def _is_page(row: Row) -> bool:
    """Return True for pages that people reach by a URL."""
    place = row.route.lstrip("^")
    machines = ("api/", "v0.1/", "admin/", "healthz", "livez", "readyz", "metrics", "mcp",
                ".well-known/")  # fmt: skip
    files = ("export", "csv")
    return (
        row.door in PAGES
        and "GET" in row.methods.split()
        and not place.startswith(machines)
        and not any(word in place for word in files)
    )
