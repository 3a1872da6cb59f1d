"""Messages that name nothing."""

import pytest

from discovery.select._vague import is_vague
from discovery.select.message import in_context


@pytest.mark.parametrize(
    "message",
    [
        "can you look into it?",
        "the thing we did last week",
        "same as last time please",
        "Kannst du dir das mal ansehen?",
        "tu peux regarder ça ?",
        "¿puedes mirarlo?",
        "você pode ver isso?",
        "puoi guardare questo?",
        "kun je daar even naar kijken?",
        "możesz się tym zająć?",
    ],
)
def test_pointer_without_a_name_is_vague(message: str) -> None:
    assert is_vague(message)


@pytest.mark.parametrize(
    "message",
    ["", "it", "what can you do for me?", "send it to Anna", "look into invoice 12", "is it 4?",
     "the thing with the boiler we did last week", "what's on my calendar", "Ist es kalt?"],
)  # fmt: skip
def test_message_that_names_something_is_not(message: str) -> None:
    assert not is_vague(message)


def test_vague_message_goes_on_with_the_conversation() -> None:
    earlier = ["what did the plumber write about the boiler?"]

    assert in_context("the thing we did last week", earlier).startswith(earlier[0])
