"""Texts of one look are judged once, and none that is hard to read is missed for it."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.screens import looking
from tests.screens.looking import serious

pytestmark = pytest.mark.browser
PAGE = "<!doctype html><html lang=en><title>Looks</title><main><h1>Looks</h1>{}</main>"
LEGIBLE = '<p style="color: #333">Legible</p>'


@pytest.fixture
def page(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    monkeypatch.setattr(looking, "_LEGIBLE", [])
    page = browser.new_page()
    yield page
    page.close()


def found_in(page: Page, body: str) -> list[str]:
    page.set_content(PAGE.format(body))
    return [one.partition(":")[0] for one in serious(page)]


def test_what_is_legible_is_remembered_and_what_is_not_is_found_each_time(page: Page) -> None:
    pale = '<p style="color: #ccc">Pale</p>'

    assert found_in(page, LEGIBLE) == []
    known = list(looking._LEGIBLE)
    assert found_in(page, LEGIBLE * 3) == []
    assert known == looking._LEGIBLE
    assert found_in(page, LEGIBLE + pale) == found_in(page, pale) == ["color-contrast"]


@pytest.mark.parametrize(
    "around",
    [
        '<div style="background: #444">{}</div>',
        '<div style="opacity: 0.3">{}</div>',
        '<div style="background: #444; position: absolute; top: 0"><div>{}</div></div>',
        '<div style="background: #444; height: 9em"></div>'
        '<div style="position: relative; top: -6em">{}</div>',
        '<div style="background: #fff; height: 2em"></div>'
        '<div style="background: #444; position: absolute; top: 9em">{}</div>',
    ],
)
def test_same_text_on_something_else_is_judged_anew(page: Page, around: str) -> None:
    assert found_in(page, LEGIBLE) == []
    assert found_in(page, LEGIBLE + around.format(LEGIBLE)) == ["color-contrast"]


def test_hidden_text_teaches_nothing(page: Page) -> None:
    hidden = '<p style="color: #ccc; {}">Pale</p>'

    assert found_in(page, hidden.format("visibility: hidden")) == []
    assert found_in(page, hidden.format("")) == ["color-contrast"]
