"""Stored texts stay text on all pages, in Chromium, under our content security policy.

No dialog, no injected script, no request to another origin, nothing that the policy had to block,
and no link that would run a script (XSS-1).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Dialog, Page, Request
from pytest_django.live_server_helper import LiveServer

from tests.hostile.asking import parts_of
from tests.hostile.payloads import PAYLOADS, some_more, spread
from tests.hostile.places import PAGES
from tests.hostile.routes import DJANGO_ADMIN, Row
from tests.hostile.urlconf import path_of
from tests.hostile.world import World, build
from tests.pages.conftest import sign_in

# Django's admin builds all its pages alike: those with the most texts. A picture is no page: it
# runs no scripts, so that no timer in it ever ends.
IN_BROWSER = [
    row
    for row in PAGES
    if not row.route.endswith(".png")
    and (
        row.door is not DJANGO_ADMIN
        or re.fullmatch(
            r"admin/(acl/(auditentry|space)|auth/user|catalog/(capability|integration)|discovery/turn)/"
            r"(<path:object_id>/(change|history|delete)/)?",
            row.route,
        )
    )
]
WATCH = """
window.pwned = 0;
window.stopped = [];
addEventListener("securitypolicyviolation", event =>
    window.stopped.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`), true);
"""
# Handlers of `load` run for a moment; some elements act when they are opened.
_HAPPENED = """
async () => {
  document.querySelectorAll("details").forEach((one) => (one.open = true));
  await new Promise((go) => setTimeout(go, 60));
  const dangerous = DANGEROUS;
  return [...window.stopped, ...dangerous, ...(window.pwned ? ["a script has run"] : [])];
}
"""
_DANGEROUS = """
[...document.querySelectorAll("a[href], form[action], iframe, object, embed, base,"
    + " meta[http-equiv],"
    + " [hx-get^='http'], [onerror], [onload], [onfocus], [ontoggle], [onbegin], [onmouseover]")]
  .filter(one => !(one.matches("a[href], form[action]")
    && /^(https?|mailto):$/.test(new URL(one.href || one.action, location).protocol)
    && ![...one.attributes].some(attribute => attribute.name.startsWith("on"))))
  .map(one => one.outerHTML.slice(0, 200))
"""
HAPPENED = _HAPPENED.replace("DANGEROUS", _DANGEROUS.strip())


@dataclass
class Watched:
    """A window, and forbidden events in it."""

    page: Page
    origin: str
    seen: list[str] = field(default_factory=list)

    def note_foreign(self, request: Request) -> None:
        """Note a request to another origin. The browser finds no other machine, so it fails."""
        if not request.url.startswith((self.origin, "data:", "blob:", "about:")):
            self.seen.append(f"request to {request.url}")

    def close_dialog(self, dialog: Dialog) -> None:
        self.seen.append(f"dialog {dialog.message}")
        dialog.dismiss()


@pytest.fixture
def watched(browser: Browser, live_server: LiveServer) -> Iterator[Watched]:
    context = browser.new_context(base_url=live_server.url)
    context.add_init_script(WATCH)
    window = Watched(context.new_page(), live_server.url)
    # Not by a route, which would end the cache: each page would get all styles and scripts anew.
    context.on("request", window.note_foreign)
    window.page.on("dialog", window.close_dialog)
    window.page.on("pageerror", lambda error: window.seen.append(f"error {error}"))
    window.page.on(
        "console",
        lambda line: window.seen.append(line.text) if "ontent Security" in line.text else None,
    )
    yield window
    context.close()


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("part", range(4))
def test_no_page_lets_a_text_do_anything(
    watched: Watched, live_server: LiveServer, part: int
) -> None:
    world = build()
    some_more(world)
    spread(world, PAYLOADS[part::4])
    sign_in(watched.page, world.root, live_server)

    found = {}
    for row in IN_BROWSER[part::4]:
        what = _happens_on(watched, _address(world, row))
        if what:
            found[row.route] = what

    assert found == {}


def _happens_on(watched: Watched, address: str) -> list[str]:
    page = watched.page
    response = page.goto(address, wait_until="load")
    page.mouse.move(200, 200)
    happened = page.evaluate(HAPPENED)
    seen = [*watched.seen, *happened]
    if response is None or response.status >= 500:
        seen.append("the page does not open")
    watched.seen.clear()
    return seen


def _address(world: World, row: Row) -> str:
    if row.path:
        return "/" + row.path
    query, _, fill = parts_of(world, row)
    return f"{path_of(row.route, fill)}?{urlencode(query)}"
