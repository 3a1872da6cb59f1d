"""Reading of long messages."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovery.select.message import READ_OF_LONG, shorten

LETTERS = st.text(st.characters(exclude_categories=["Cs"]), min_size=100, max_size=5_000)
REQUEST = "translate the attached contract and send the file to Paula"


@given(LETTERS, st.integers(min_value=100, max_value=4_000))
def test_message_is_read_whole_up_to_the_limit_and_in_short_beyond(text: str, most: int) -> None:
    read = shorten(text, most)
    text = text.replace("\x00", " ")  # which Postgres does not take

    if len(text) <= most:
        assert read == text
    else:
        assert len(read) <= min(most, READ_OF_LONG)
        # Both ends are there, but for words that the cuts have broken.
        assert text.startswith(read.partition("\n…\n")[0])
        assert text.endswith(read.rpartition("\n…\n")[2])


@pytest.mark.parametrize("seed", range(20))
def test_request_is_read_wherever_it_stands(seed: int) -> None:
    dice = random.Random(seed)
    noise = [f"{dice.randrange(16**8):08x} {dice.randrange(16**8):08x}." for _ in range(3_000)]
    place = dice.choice([0, dice.randrange(1, len(noise)), len(noise)])

    read = shorten(" ".join([*noise[:place], REQUEST, *noise[place:]]), 8_000)

    words = set(read.split())
    assert len(words & set(REQUEST.split())) >= 5, place


@pytest.mark.parametrize("text", ["x" * 1_000_000, "天" * 100_000, " " * 100_000, "a b " * 250_000])
def test_text_of_any_kind_and_length_is_read(text: str) -> None:
    assert len(shorten(text, 8_000)) <= READ_OF_LONG
