"""Modes: how much of a caller's capabilities a model gets (D5)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from discovery.answer.modes import MOST_COMPACT, MOST_DIRECT, choose_mode


@pytest.mark.parametrize(
    ("full_tokens", "count", "window", "mode"),
    [
        (20_000, 100, 100_000, "direct"),
        (20_001, 100, 100_000, "compact_direct"),
        (60_000, 666, 100_000, "compact_direct"),
        (60_000, 667, 100_000, "discovery"),
        (0, 0, 1_000, "direct"),
        (25_600, 100, None, "direct"),
        (25_601, 100, None, "compact_direct"),
    ],
)
def test_what_fits_a_fifth_of_the_window_decides(
    full_tokens: int, count: int, window: int | None, mode: str
) -> None:
    choice = choose_mode(full_tokens=full_tokens, count=count, context_window=window, forced=None)

    assert choice.mode == mode
    assert f"{choice.budget:,}" in choice.reason


@pytest.mark.parametrize("mode", ["direct", "compact_direct", "discovery", "selected"])
def test_forced_mode_knows_no_budget(mode: str) -> None:
    choice = choose_mode(full_tokens=10**9, count=2_000, context_window=1_000, forced=mode)

    assert (choice.mode, choice.reason) == (mode, f"The request asks for {mode}.")


def test_forced_mode_is_not_followed_into_an_endless_answer() -> None:
    def forced(mode: str, count: int) -> str:
        return choose_mode(full_tokens=0, count=count, context_window=None, forced=mode).mode

    assert forced("direct", MOST_DIRECT + 1) == "compact_direct"
    assert forced("direct", MOST_COMPACT + 1) == "discovery"
    assert forced("compact_direct", MOST_COMPACT + 1) == "discovery"


def test_provider_that_takes_few_tools_gets_no_more() -> None:
    choice = choose_mode(
        full_tokens=100, count=129, context_window=100_000, forced="auto", most_tools=128
    )

    assert choice.mode == "compact_direct"
    assert "129 definitions are more than the 128" in choice.reason


def test_share_and_line_are_the_deployments(settings: Settings) -> None:
    settings.PEGBOARD_CONTEXT_SHARE, settings.PEGBOARD_COMPACT_TOKENS = 0.5, 100

    assert choose_mode(full_tokens=500, count=5, context_window=1_000, forced=None).budget == 500
    assert (
        choose_mode(full_tokens=501, count=6, context_window=1_000, forced=None).mode == "discovery"
    )


def test_unknown_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="is not a mode"):
        choose_mode(full_tokens=0, count=0, context_window=None, forced="everything")


@given(st.integers(0, 10**6), st.integers(0, 20_000), st.integers(1, 10**7))
def test_what_is_chosen_fits(full_tokens: int, count: int, window: int) -> None:
    choice = choose_mode(full_tokens=full_tokens, count=count, context_window=window, forced=None)

    costs = {"direct": full_tokens, "compact_direct": 30 * count, "discovery": 0}
    assert costs[choice.mode] <= choice.budget
