"""Suggestions for misspelt names."""

import pytest

from discovery.calls.near_names import near_names

NAMES = ("filesystem__grep", "gmail__send_email", "gmail__search_emails", "telegram", "wiki__read")


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("filesystem.grep", ("filesystem__grep",)),
        ("gmail__sendEmail", ("gmail__send_email",)),
        ("send_email", ("gmail__send_email",)),
        ("gmail__send_mails", ("gmail__send_email", "gmail__search_emails")),
        ("Telegramm", ("telegram",)),
        ("payroll__pay", ()),
        ("", ()),
        ("日本語", ()),
        ("x" * 10_000, ()),
    ],
)
def test_names_nearly_right_are_found(asked: str, near: tuple[str, ...]) -> None:
    assert near_names(asked, NAMES) == near
