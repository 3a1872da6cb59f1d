"""Tools that Pegboard only describes say so, whether or not a person approves their calls."""

import pytest

from catalog.readiness.readiness import Readiness, ToolReadiness


@pytest.mark.parametrize(
    ("asks_first", "runs_here", "state", "carried_out_elsewhere"),
    [
        (False, False, Readiness.DESCRIBED_ONLY, True),
        (True, False, Readiness.ASKS_FIRST, True),
        (True, True, Readiness.ASKS_FIRST, False),
        (False, True, Readiness.READY, False),
    ],
)
def test_sentence_says_who_carries_out_the_call(
    asks_first: bool, runs_here: bool, state: Readiness, carried_out_elsewhere: bool
) -> None:
    readiness = ToolReadiness(asks_first=asks_first, runs_here=runs_here)

    assert readiness.state is state
    assert ("your application carries" in readiness.sentence.lower()) is carried_out_elsewhere
