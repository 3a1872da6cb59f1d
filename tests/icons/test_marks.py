"""Brands' marks: the whole name of a brand leads to its mark, and nothing else does."""

import json
import re
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acl.templatetags.components import integration_icon, letter_of, mark_of, name_key
from acl.templatetags.pegboard import INTEGRATION_KIND_ICONS
from catalog.models import Integration
from lab.marks import BRANDS, NAMES, SPRITE, draw_marks

SYMBOLS = set(re.findall(r'<symbol id="([a-z0-9]+)"', SPRITE.read_text()))
NAME_OF = {str(name): str(mark) for name, mark in json.loads(NAMES.read_text()).items()}
BESIDE = ("", " MCP server", ", on this machine", ": issues", " for teams", " (beta)", " API")


def test_sprite_and_names_are_of_the_listed_brands() -> None:
    assert SYMBOLS == {brand.partition(":")[0] for brand in BRANDS.split()} == set(NAME_OF.values())
    assert len(SPRITE.read_bytes()) < 120_000  # a page loads all of it


@given(st.sampled_from(sorted(NAME_OF)), st.sampled_from(BESIDE), st.booleans())
def test_title_that_is_a_brands_name_has_its_mark(name: str, beside: str, upper: bool) -> None:
    title = (name.upper() if upper else name) + beside

    assert mark_of(title) == NAME_OF[name]
    assert f"marks.svg#{NAME_OF[name]}" in integration_icon(title)
    assert "<img" in integration_icon(title, uuid4())  # its own picture comes first


@given(st.sampled_from(sorted(NAME_OF)), st.text(st.characters(categories=["L"]), min_size=1))
def test_name_beside_other_words_has_no_mark(name: str, word: str) -> None:
    title = f"{name} {word}x"

    assert mark_of(title) in {"", NAME_OF.get(title, ""), mark_of(name_key(title))}
    assert mark_of(f"Qzq {title}") == ""


@given(st.text(max_size=300), st.sampled_from(["", *Integration.Kind]))
def test_any_title_has_an_icon_that_says_no_more_than_it(title: str, kind: str) -> None:
    drawn = integration_icon(title, kind=kind)

    assert drawn.count("<span") == 1
    if not mark_of(title):
        drawing = INTEGRATION_KIND_ICONS.get(kind)
        assert (f"#{drawing}" if drawing else f">{letter_of(title)}<") in drawn.replace(
            "&amp;", "&"
        )


@pytest.mark.parametrize("kind", ["", Integration.Kind.MCP])
def test_letters_come_last(kind: str) -> None:
    assert ">O<" in integration_icon("Our tickets", kind=kind)


def test_marks_are_drawn_from_a_package(tmp_path: Path) -> None:
    (tmp_path / "icons").mkdir()
    (tmp_path / "data").mkdir()
    drawing = '<svg role="img" viewBox="0 0 24 24"><title>Ö</title><path d="M0 0h1"/></svg>'
    (tmp_path / "icons/oe.svg").write_text(drawing)
    (tmp_path / "data/simple-icons.json").write_text('[{"title": "Ö", "slug": "oe"}]')

    sprite, names = draw_marks(tmp_path, ["oe:Oe tools"])

    assert '<symbol id="oe" viewBox="0 0 24 24"><path d="M0 0h1"/></symbol>' in sprite
    assert json.loads(names) == {"oe": "oe", "Ö": "oe", "Oe tools": "oe"}
