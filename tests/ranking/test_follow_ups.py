"""Detection of follow-up messages."""

import pytest

from discovery.select.message import in_context, read


@pytest.mark.parametrize(
    "message",
    [
        "and on Sunday?",
        "what about Crete",
        "send it to Paula too",
        "the second one please",
        "make that an hour later",
        "und für Anna",
        "go ahead",
        "Mia as well",
    ],
)
def test_message_that_goes_on_is_read_after_the_last_one(message: str) -> None:
    context = in_context(message, ["what time is it", "is it warm in Rome"])

    assert context == f"is it warm in Rome {message}"


@pytest.mark.parametrize(
    "message",
    [
        "send an email to Karl about the invoice",
        "how much is 14 times 23",
        "remind me at six",
        "play jazz",
    ],
)
def test_message_that_stands_by_itself_is_read_alone(message: str) -> None:
    assert in_context(message, ["is it warm in Rome"]) == ""


def test_without_history_nothing_is_leant_on() -> None:
    assert in_context("and on Sunday?", []) == in_context("and on Sunday?", [" "]) == ""


def test_only_the_start_of_a_long_turn_counts() -> None:
    assert len(in_context("and that?", ["word " * 1000])) < 600


def test_context_comes_first_and_the_own_words_after_it() -> None:
    reading = read("and on Sunday?", ("is it warm in Rome",))

    assert reading.texts == ("is it warm in Rome and on Sunday?", "and on Sunday?")
    assert reading.own == 1


def test_message_without_context_is_read_as_it_is() -> None:
    reading = read("book a table and tell Anna about it")

    assert reading.texts[0] == "book a table and tell Anna about it"
    assert reading.own == 0
