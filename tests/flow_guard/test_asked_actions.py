"""Messages, and the tools that they ask for, by words alone."""

from typing import Any

import pytest

from discovery.flow_guard._asked_actions import AskedActions
from discovery.flow_guard._spellings import normalize
from discovery.flow_guard.tool_facts import ToolFacts


def tool(name: str, effect: str = "write", **properties: Any) -> ToolFacts:
    return ToolFacts(name, effect, schema={"properties": properties})


def covers(message: str, asked: ToolFacts) -> bool:
    return AskedActions(normalize(message)).covers(asked)


@pytest.mark.parametrize(
    "message",
    [
        "Book a table at Tasca Azul",
        "Could you reserve a table?",
        "Is there a table at eight? If so, book it.",
        "I'd like to order a table",
        "I need a table for two",
        "Comment on it, and book a table",
        "Reserviere einen Tisch",
        "Napisz do Anny",  # no word of it is known, and it asks nothing
        "テーブルを追加してください",
    ],
)
def test_wish_covers_a_change(message: str) -> None:
    assert covers(message, tool("reserve_table"))


@pytest.mark.parametrize(
    "message",
    [
        "What do people say about Tasca Azul?",
        "Tell me about the order of the tables",
        "Is the service ok? Look at the log of the table.",
        "Check whether Anna is a member",
        "Let me know who made the booking",
        "Was sagt man über Tasca Azul?",
        "¿Qué opina la gente?",
        "新しい予定を検索して",
    ],
)
def test_question_covers_no_change(message: str) -> None:
    assert not covers(message, tool("reserve_table"))


def test_empty_message_covers_nothing() -> None:
    assert not covers("", tool("reserve_table"))


def test_money_moves_only_if_the_message_speaks_of_money() -> None:
    pay, wire = tool("pay_member"), tool("send_funds_now", amount={}, to={})
    move = tool("transfer_file", path={})

    assert not covers("Tell Anna that the plan is fine", pay)
    assert not covers("Send Anna the plan", tool("transfer", amount={}, to={}))
    assert covers("Transfer 5 € to Anna", tool("transfer", amount={}, to={}))
    assert covers("Überweise Anna die Miete", wire)
    assert covers("Send Anna the plan", move)


def test_access_is_opened_only_if_the_message_says_so() -> None:
    promote = tool("promote_member")

    assert not covers("Mail Anna that the plan is fine", promote)
    assert covers("Make Anna an admin", promote)


def test_own_word_of_the_tool_at_the_start_of_a_clause_is_a_command() -> None:
    comment = tool("comment_on_issue")

    assert covers("Comment on issue 12 that we look into it", comment)
    assert not covers("Look at issue 12 and the last comment", comment)


def test_end_must_be_asked_for_in_any_script() -> None:
    drop = tool("delete_table", "delete")

    assert covers("テーブルを削除して", drop)
    assert not covers("テーブルを追加して", drop)
