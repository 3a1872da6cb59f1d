"""Capabilities that no relation raises."""

from dataclasses import dataclass

import pytest

from discovery.select.ranking.competition import needs_own_evidence


@dataclass(frozen=True)
class Tool:
    action: str
    side_effect: str


@pytest.mark.parametrize(
    ("action", "effect", "needs"),
    [
        ("delete_event", "delete", True),
        ("list_events", "read", False),
        ("create_event", "write", False),
        ("payInvoice", "write", True),
        ("transfer_money", "write", True),
        ("list_payments", "read", False),
        ("get_payment", "read", False),
    ],
)
def test_deleting_and_paying_need_evidence_of_their_own(
    action: str, effect: str, needs: bool
) -> None:
    assert needs_own_evidence(Tool(action, effect)) is needs
