"""Pages name the reasons of failed calls in words."""

from catalog.servers.client.server_problems import LABELS, Reason, label_problem
from discovery.calls.state import LABELS as CALL_LABELS
from discovery.calls.state import LEFT_QUEUE, label_reason


def test_every_reason_has_a_label() -> None:
    assert LABELS.keys() == set(Reason)
    assert LEFT_QUEUE.keys() <= CALL_LABELS.keys() | set(Reason)


def test_no_label_is_a_code() -> None:
    assert label_reason("sign_in_needed") == "Sign-in needed"
    assert label_reason("tool_error") == "Error of the tool"
    assert label_problem("of_another_release") == "Of another release"
