"""Thresholds of relevance."""

import pytest

from discovery.select.ranking.thresholds import cut, is_direct


def test_weak_best_still_gives_an_answer() -> None:
    assert cut([0.25, 0.2]) <= 0.2


def test_noise_beside_a_strong_best_is_cut() -> None:
    assert 0.1 < cut([0.95, 0.2]) < 0.95


def test_nothing_is_relevant_to_small_talk() -> None:
    assert cut([1.0], small_talk=True) > 1.0


def test_nothing_is_relevant_where_there_is_nothing() -> None:
    assert cut([]) > 0


@pytest.mark.parametrize(
    ("scores", "direct"),
    [([], False), ([0.95], True), ([0.95, 0.5], True), ([0.95, 0.9], False), ([0.5, 0.0], False)],
)
def test_direct_needs_a_high_score_and_a_lead(scores: list[float], direct: bool) -> None:
    assert is_direct(scores) is direct
