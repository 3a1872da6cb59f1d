"""Screenshots of pages, for the documentation and for review.

PEGBOARD_TEST_PICTURES names the output folder; without it none are taken. PEGBOARD_TEST_PICTURES_OF
selects windows, such as `1440-light,390-dark`.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page

FOLDER = os.environ.get("PEGBOARD_TEST_PICTURES", "")
USUAL = "1440-light"
WINDOWS = os.environ.get("PEGBOARD_TEST_PICTURES_OF", USUAL).split(",")


def keep_picture(page: Page, name: str) -> None:
    """Take a screenshot in each of the windows."""
    for window in WINDOWS if FOLDER else ():
        with _seen_in(page, window):
            ending = "" if window == USUAL else f"-{window}"
            page.screenshot(path=f"{FOLDER}/{name}{ending}.png", full_page=window != USUAL)


@contextmanager
def _seen_in(page: Page, window: str) -> Iterator[None]:
    width, theme = window.split("-")
    before = page.viewport_size
    page.set_viewport_size({"width": int(width), "height": 960})
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
    page.mouse.move(0, 0)
    yield
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    if before is not None:
        page.set_viewport_size(before)
