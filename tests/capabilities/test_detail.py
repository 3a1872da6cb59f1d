"""Content of the levels of detail."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.capabilities.detail_levels import SHORT, short_description


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("Send an email.", "Send an email."),
        ("  Send\n an   email. ", "Send an email."),
        ("", ""),
        (
            "Send an email. Attachments are given by address, and may be at most 10 MB each.",
            "Send an email.",
        ),
        (
            "Looks through every page of the wiki and answers with the ones that mention a word",
            "Looks through every page of the wiki and answers with the…",
        ),
        ("Take care, e.g. with large tables; " + "and so on " * 9, None),
        ("x" * 80, "x" * 59 + "…"),
    ],
)
def test_short_description_ends_at_a_sentence_or_word(text: str, short: str | None) -> None:
    expected = "Take care, e.g. with large tables; and so on and so on and…"

    assert short_description(text) == (expected if short is None else short)


@given(st.text())
def test_short_description_is_never_too_long_nor_empty_for_a_text(text: str) -> None:
    short = short_description(text)

    assert len(short) <= SHORT
    assert bool(short) == bool(text.split())
