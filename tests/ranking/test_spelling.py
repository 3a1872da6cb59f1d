"""Correction of misspelt common words, which leaves all else unchanged."""

import pytest

from discovery.select._glossary import add_english
from discovery.select._spelling import correct
from discovery.select.message import read
from tests.ranking.tool_texts import MESSAGES


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("emial", "email"),
        ("wether", "weather"),
        ("remnd", "remind"),
        ("calender", "calendar"),
        ("mesage", "message"),
        ("meetting", "meeting"),
    ],
)
def test_slip_is_mended(slip: str, meant: str) -> None:
    assert correct(f"my {slip}, please") == f"my {meant}, please"


@pytest.mark.parametrize(
    "text",
    [
        "whether the concert is on",
        "a spare part of the statue",
        "reminders and cameras",
        "Emial wrote",
        "open emial.txt in emial/2024",
        "call get_emial on my_srver",
        "",
    ],
)
def test_word_that_means_what_it_says_is_left_alone(text: str) -> None:
    assert correct(text) == text


@pytest.mark.parametrize("message", MESSAGES)
def test_message_without_slips_is_read_as_it_is(message: str) -> None:
    assert read(message).texts[:1] == add_english((message,))


def test_other_languages_are_not_taken_for_slips() -> None:
    assert (
        read("Ouvre le contrat de la maison").texts[0].startswith("Ouvre le contrat de la maison")
    )
