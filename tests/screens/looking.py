"""What a machine can hold against a page."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

# Only what is serious leaves the browser, and a page is given axe once however often it is asked.
_SERIOUS = """
axe.run(document, {resultTypes: ["violations"]}).then((found) => found.violations
  .filter((one) => ["serious", "critical"].includes(one.impact))
  .flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.html}`)))
"""
# What goes on behind the right edge, as far inside as it can be told.
_WIDER = """
document.documentElement.scrollWidth <= innerWidth ? [] :
  [...document.querySelectorAll("main *")]
    .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
    .filter((one, _, all) => !all.some((other) => other !== one && one.contains(other)))
    .map((one) => one.outerHTML.slice(0, 120)).slice(0, 3)
    .concat(["the page"])
"""
_AXE = Axe().axe_script


def serious(page: Page) -> list[str]:
    """What axe finds on the page as it is."""
    if not page.evaluate("Boolean(window.axe)"):
        page.evaluate(_AXE)
    return list(page.evaluate(_SERIOUS))


def scrolls(page: Page) -> list[str]:
    """What makes the page wider than the window."""
    return [f"scrolls sideways: {where}" for where in page.evaluate(_WIDER)]
