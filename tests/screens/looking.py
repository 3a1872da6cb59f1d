"""What a machine can hold against a page."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page


def serious(page: Page) -> list[str]:
    """What axe finds on the page as it is."""
    return [
        f"{violation['id']}: {node['html']}"
        for violation in Axe().run(page).response["violations"]
        if violation["impact"] in {"serious", "critical"}
        for node in violation["nodes"]
    ]


# What goes on behind the right edge, as far inside as it can be told.
_WIDER = """
document.documentElement.scrollWidth <= innerWidth ? [] :
  [...document.querySelectorAll("main *")]
    .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
    .filter((one, _, all) => !all.some((other) => other !== one && one.contains(other)))
    .map((one) => one.outerHTML.slice(0, 120)).slice(0, 3)
    .concat(["the page"])
"""


def scrolls(page: Page) -> list[str]:
    """What makes the page wider than the window."""
    return [f"scrolls sideways: {where}" for where in page.evaluate(_WIDER)]
