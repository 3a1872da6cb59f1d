"""Automatic checks of a page."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

# Only serious findings leave the browser, and axe is loaded into a page once. Findings have the
# impact of their rule, so milder rules are not run; only one of those needs what is preloaded.
#
# Nine tenths of axe's time go into the contrast of each text. Where colours, size, weight and all
# that is painted behind are the same as of a text that axe has found legible, it would find the
# same, so only the first of each look is judged, in a process. What is moved out of its place, or
# reaches out of its background, has no look: axe judges it each time.
_SERIOUS = """
(legible) => {
  if (!window.axe) return null;
  const known = new Set(legible ? legible.split("\\n") : []), before = known.size;
  const check = axe._audit.checks["color-contrast"], judge = check.evaluate;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  // What is sticky is in its place until someone scrolls.
  const fixed = ["absolute", "fixed", ...scrollY ? ["sticky"] : []];
  const elsewhere = (style) => fixed.includes(style.position)
    || style.transform != "none"
    || style.position == "relative" && (parseFloat(style.top) || parseFloat(style.left))
    || [style.marginTop, style.marginLeft].some((margin) => parseFloat(margin) < 0);
  const looks = (text) => {
    const own = getComputedStyle(text), box = text.getBoundingClientRect();
    const look = [dark, text.localName, own.color, own.webkitTextFillColor, own.fontSize,
      own.fontWeight, own.textShadow, own.webkitTextStroke];
    let covered = false;
    for (let one = text; one; one = one.parentElement) {
      const style = getComputedStyle(one);
      if (style.opacity != 1 || style.mixBlendMode != "normal" || style.filter != "none")
        look.push(style.opacity, style.mixBlendMode, style.filter);
      if (covered) continue;
      if (style.backgroundImage != "none") return null;
      if (style.backgroundColor != "rgba(0, 0, 0, 0)") look.push(style.backgroundColor);
      if (!/^rgba|[/]/.test(style.backgroundColor)) {
        const behind = one.getBoundingClientRect();
        if (one.parentElement && one != document.body && (box.left < behind.left - 1
            || box.right > behind.right + 1 || box.top < behind.top - 1
            || box.bottom > behind.bottom + 1)) return null;
        covered = true;
      } else if (elsewhere(style)) return null;
    }
    return look.join("|");
  };
  check.evaluate = function (text, ...more) {
    const look = looks(text);
    if (look && known.has(look)) return true;
    const fine = judge.call(this, text, ...more);
    if (look && fine === true && axe.commons.dom.isVisibleOnScreen(text)) known.add(look);
    return fine;
  };
  return axe.run(document, {
    resultTypes: ["violations"],
    preload: false,
    rules: Object.fromEntries(axe._audit.rules
      .filter((one) => ["minor", "moderate"].includes(one.impact))
      .map((one) => [one.id, {enabled: false}])),
  }).then((found) => [[...known].slice(before).join("\\n"), found.violations
    .filter((one) => ["serious", "critical"].includes(one.impact))
    .flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.html}`))])
    .finally(() => { check.evaluate = judge; });
}
"""
_LEGIBLE: list[str] = []  # looks of texts, in all pages of this process
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


def bring_axe(page: Page) -> None:
    """Have each page that opens in the window bring axe along, so that it is sent only once."""
    page.context.add_init_script(_AXE)


def serious(page: Page) -> list[str]:
    """Return axe's serious findings on the page."""
    # As one text: Playwright takes a while for a list.
    known = "\n".join(_LEGIBLE)
    answer = page.evaluate(_SERIOUS, known)
    if answer is None:
        page.evaluate(_AXE)
        answer = page.evaluate(_SERIOUS, known)
    legible, found = answer
    _LEGIBLE.extend(legible.splitlines())
    return list(found)


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
