"""Automatic checks of a page."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

# Only serious findings leave the browser, and axe is loaded into a page once. Findings have the
# impact of their rule, so milder rules are not run; only one of those needs what is preloaded.
_SERIOUS = """
(only) => axe.run(document, {
  resultTypes: ["violations"],
  preload: false,
  rules: Object.fromEntries(axe._audit.rules
    .filter((one) => ["minor", "moderate"].includes(one.impact)
      || only && !only.includes(one.id))
    .map((one) => [one.id, {enabled: false}])),
}).then((found) => found.violations
  .filter((one) => ["serious", "critical"].includes(one.impact))
  .flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.html}`)))
"""
# The innermost elements that extend beyond the right edge.
_WIDER = """
document.documentElement.scrollWidth <= innerWidth ? [] :
  [...document.querySelectorAll("main *")]
    .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
    .filter((one, _, all) => !all.some((other) => other !== one && one.contains(other)))
    .map((one) => one.outerHTML.slice(0, 120)).slice(0, 3)
    .concat(["the page"])
"""
_AXE = Axe().axe_script
# Rules whose findings depend on colours or sizes, or on what only a narrow window shows. The other
# fifty read the same document in every window, and take two fifths of the time.
OF_A_WINDOW = (
    "color-contrast",
    "link-in-text-block",
    "target-size",
    "scrollable-region-focusable",
    "aria-command-name",
    "aria-hidden-focus",
    "button-name",
    "label",
    "link-name",
    "nested-interactive",
)


def serious(page: Page, only: tuple[str, ...] = ()) -> list[str]:
    """Return axe's serious findings on the page, by all rules or by some."""
    if not page.evaluate("Boolean(window.axe)"):
        page.evaluate(_AXE)
    known = page.evaluate("axe._audit.rules.map((one) => one.id)")
    assert not set(only) - set(known), "axe has no such rule any longer"
    return list(page.evaluate(_SERIOUS, list(only) or None))


def scrolls(page: Page) -> list[str]:
    """Return the elements that make the page wider than the window."""
    return [f"scrolls sideways: {where}" for where in page.evaluate(_WIDER)]


# Colours do not depend on the width, nor the layout on the colours.
WIDE_AND_NARROW = ((1440, "light"), (390, "dark"))
LONG = "Rechtsschutzversicherungsgesellschaftsbeitragsrückerstattung"


def show_in(page: Page, width: int, theme: str) -> None:
    """Show the page in a window of that width, and in that theme."""
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
    page.set_viewport_size({"width": width, "height": 900})


def troubles(page: Page) -> list[str]:
    """Return what axe finds, and whether the page scrolls sideways."""
    return scrolls(page) + serious(page)
