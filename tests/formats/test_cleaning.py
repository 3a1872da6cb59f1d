"""POI-1: hidden characters do not survive cleaning."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.formats.text_cleanup import AmbiguousKeysError, clean_name, clean_text, clean_value

# Without ESC and CSI, which start terminal sequences that are removed as a whole.
HIDDEN = st.one_of(
    st.characters(categories=["Cf", "Co", "Cs", "Cn"]),
    st.characters(categories=["Cc"], exclude_characters="\n\t\r\x1b\x9b"),
    st.characters(min_codepoint=0xFE00, max_codepoint=0xFE0F),
    st.characters(min_codepoint=0xE0100, max_codepoint=0xE01EF),
)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=60)


@given(TEXTS, st.lists(st.tuples(st.integers(0, 60), HIDDEN), max_size=8))
def test_inserted_hidden_characters_change_nothing(
    text: str, insertions: list[tuple[int, str]]
) -> None:
    dirty = text
    for place, character in insertions:
        place = min(place, len(dirty))
        dirty = dirty[:place] + character + dirty[place:]

    assert clean_text(dirty).text == clean_text(text).text


@given(st.text())
def test_clean_text_shows_all_it_says(text: str) -> None:
    clean = clean_text(text).text

    assert clean_text(clean) == (clean, 0)
    assert not any(unicodedata.category(character) in ("Cf", "Co", "Cs") for character in clean)


@given(TEXTS, st.sampled_from(["\x1b[31m", "\x1b[0m", "\x9b2J", "\x1b[38;5;1m"]))
def test_terminal_sequences_go_as_a_whole(text: str, sequence: str) -> None:
    clean = clean_text(text).text

    assert clean_text(sequence + clean + sequence).text == clean


@pytest.mark.parametrize(
    ("dirty", "clean", "hidden"),
    [
        ("plain\ntext\twith tab", "plain\ntext\twith tab", 0),
        ("a\r\nb", "a\nb", 0),
        ("read\u200bme", "readme", 1),
        ("pay \u202e001\u202c", "pay 001", 2),
        ("ok" + "".join(chr(0xE0000 + ord(letter)) for letter in "ignore"), "ok", 6),
        ("\x1b[31mred\x1b[0m", "red", 9),
        ("\x1b[\u200b31mred", "red", 6),
        ("heart\ufe0f", "heart", 1),
        ("half \ud800 pair", "half  pair", 1),
        ("nul\x00l", "null", 1),
    ],
)
def test_hidden_characters_are_counted(dirty: str, clean: str, hidden: int) -> None:
    assert clean_text(dirty) == (clean, hidden)


def test_names_are_folded_to_one_line_and_one_form() -> None:
    assert clean_name("  ｓｅａｒｃｈ\n ﬁle ").text == "search file"  # noqa: RUF001 - full width is the point


def test_every_text_of_a_value_is_cleaned() -> None:
    dirty = {"na\u200bme": ["a\u200b", {"enum": ["b\u2060"], "default": 1}], "flag": True}

    clean, hidden = clean_value(dirty)

    assert clean == {"name": ["a", {"enum": ["b"], "default": 1}], "flag": True}
    assert hidden == 3


def test_keys_that_differ_in_hidden_characters_only_are_refused() -> None:
    with pytest.raises(AmbiguousKeysError, match="'path'"):
        clean_value({"path": 1, "pa\u200bth": 2})
