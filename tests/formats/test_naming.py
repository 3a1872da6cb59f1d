"""Names depend on the capability alone, and are callable by all models."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.formats.names import (
    FULL_NAME,
    RESERVED,
    SLUG,
    display_name_for,
    full_name_for,
    identifier_for,
    short_form,
    slug_for,
)


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("gmail", "gmail"),
        ("Exa Search", "exa-search"),
        ("google_calendar", "google_calendar"),
        ("a__b", "a_b"),
        ("@scope/server", "scope-server"),
        ("Memory (beta)", "memory-beta"),
    ],
)
def test_slug_reads_like_its_title(title: str, slug: str) -> None:
    assert slug_for(title) == slug


@pytest.mark.parametrize("title", ["gіthub", "C++", "必优科技", "Café", "mcp", "search_tools"])  # noqa: RUF001
def test_title_that_could_be_taken_for_another_gets_a_hash(title: str) -> None:
    slug = slug_for(title)

    assert SLUG.fullmatch(slug)
    assert re.search(r"[0-9a-f]{8}$", slug)
    assert slug not in {"github", "c", "cafe", *RESERVED}


@given(st.text())
def test_every_title_gives_a_legal_slug_without_the_divider(title: str) -> None:
    slug = slug_for(title)

    assert SLUG.fullmatch(slug)
    assert "__" not in slug
    assert slug_for(slug) == slug


@given(st.text(), st.text(min_size=1))
def test_every_full_name_is_legal_and_keeps_its_integration(title: str, action: str) -> None:
    name = full_name_for(slug_for(title), action)

    assert FULL_NAME.fullmatch(name)
    assert name.startswith(f"{slug_for(title)}__")


def test_legal_name_is_kept_as_it_is() -> None:
    assert full_name_for("gmail", "send_email") == "gmail__send_email"
    assert identifier_for("tool", "gmail__send_email") == "tool:gmail__send_email"


@pytest.mark.parametrize("action", ["get.weather", "get weather", "x" * 80, "wetter_für"])
def test_short_form_is_readable_and_stable(action: str) -> None:
    name = full_name_for("sky", action)

    assert name == short_form("tool", "sky", action)
    assert name.startswith(f"sky__{action[:3]}")


def test_short_forms_tell_capabilities_apart() -> None:
    names = {
        short_form("tool", "sky", "get.weather"),
        short_form("tool", "sky", "get weather"),
        short_form("skill", "sky", "get.weather"),
        short_form("tool", "sky", "get.weather", "declared"),
        short_form("tool", "sea", "get.weather"),
    }

    assert len(names) == 5


def test_short_form_does_not_repeat_the_integration() -> None:
    assert short_form("tool", "uber", "uber.ride").startswith("uber__ride_")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("github-pr-review", "Github Pr Review"),
        ("send_email", "Send Email"),
        ("createPDF", "Create PDF"),
        ("io.example/clock", "Io Example Clock"),
    ],
)
def test_display_name_comes_from_the_segments(name: str, shown: str) -> None:
    assert display_name_for(name) == shown
