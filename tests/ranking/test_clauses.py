"""Splitting of messages into tasks."""

import pytest

from discovery.select.clauses import MOST_CLAUSES, split


@pytest.mark.parametrize(
    ("message", "clauses"),
    [
        ("post this to Slack and mail the team", ["post this to Slack", "mail the team"]),
        (
            "Book a flight to Rome, then remind me tomorrow",
            ["Book a flight to Rome", "remind me tomorrow"],
        ),
        (
            "What's the weather in Oslo? Play some jazz music.",
            ["What's the weather in Oslo", "Play some jazz music"],
        ),
        (
            "Schicke eine Mail an Anna und erstelle eine Aufgabe für morgen",
            ["Schicke eine Mail an Anna", "erstelle eine Aufgabe für morgen"],
        ),
        (
            "Envoie un message à Paul et réserve une table pour demain",
            ["Envoie un message à Paul", "réserve une table pour demain"],
        ),
        ("打开日历文件。发送邮件给团队", ["打开日历文件", "发送邮件给团队"]),
    ],
)
def test_message_is_cut_between_its_tasks(message: str, clauses: list[str]) -> None:
    assert split(message) == clauses


@pytest.mark.parametrize(
    "message",
    ["", "hello", "find music and films for tonight", "weather in Paris, France", "a, b, c and d"],
)
def test_what_only_lists_things_is_not_split(message: str) -> None:
    assert split(message) == []


def test_remark_about_the_message_is_no_clause() -> None:
    assert split("I need the quarterly sales report as a file. Can you help me with that?") == []


def test_number_of_clauses_is_bounded_and_nothing_is_lost() -> None:
    tasks = [f"send report number{place} to customer{place}" for place in range(40)]

    clauses = split(" and ".join(tasks))

    assert len(clauses) == MOST_CLAUSES
    assert all(task in ". ".join(clauses) for task in tasks)


def test_endless_message_is_only_read_to_the_limit() -> None:
    clauses = split("send the weekly report to Ann. " * 100_000)

    assert sum(map(len, clauses)) < 3_000
