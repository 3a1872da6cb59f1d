"""Thresholds of relevance."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovery.select.ranking.scales import GENERAL, TRAINED
from discovery.select.ranking.thresholds import FLOOR, Fit, cut, is_direct, is_enough, margin


def test_weak_best_still_gives_an_answer() -> None:
    assert cut([0.25, 0.2]) <= 0.2


def test_noise_beside_a_strong_best_is_cut() -> None:
    assert 0.1 < cut([0.95, 0.2]) < 0.95


def test_surer_best_leaves_fewer_places() -> None:
    others = [0.6, 0.5, 0.4, 0.3]

    assert sum(score >= cut([0.95, *others]) for score in others) == 0
    assert sum(score >= cut([0.65, *others]) for score in others) == 3


def test_more_clauses_leave_fewer_places_beside_their_best() -> None:
    assert cut([0.9], share=TRAINED.share(1)) < cut([0.9], share=TRAINED.share(4))
    assert cut([0.9], share=TRAINED.share(0)) == cut([0.9], share=TRAINED.share(1))
    assert GENERAL.share(4) == GENERAL.share(1)
    assert TRAINED.share(50) < 1


@given(
    st.lists(st.floats(0.0, 0.99), min_size=1, max_size=30),
    st.floats(0.05, 0.5),
    st.floats(1.0, 1.5),
)
def test_each_place_that_is_given_makes_the_next_dearer(
    scores: list[float], share: float, growth: float
) -> None:
    least = cut(scores, share=share, growth=growth)
    best = max(scores)

    assert cut(scores, share=share) <= least <= max(best, FLOOR)


def test_scores_alike_get_places_until_what_comes_next_is_seldom_right() -> None:
    alike = [0.6 - 0.01 * place for place in range(20)]
    clear = [0.8, *(0.45 - 0.01 * place for place in range(20))]

    assert sum(score >= cut(alike, share=0.12, growth=1.25) for score in alike) >= 8
    assert sum(score >= cut(clear, share=0.12, growth=1.25) for score in clear) <= 5
    assert TRAINED.growth(0) > TRAINED.growth(2) > GENERAL.growth(0) == 1


def test_words_alone_keep_more_places() -> None:
    assert cut([0.95], by_words=True) < cut([0.95])


def test_name_in_the_message_does_not_shut_out_all_others() -> None:
    assert cut([0.9999]) < 0.97


@pytest.mark.parametrize("fit", ["small_talk", "nothing_fits", "needs_clarification"])
def test_nothing_is_relevant_where_nothing_fits(fit: Fit) -> None:
    assert cut([1.0], fit) > 1.0


def test_margin_is_of_the_best_candidate_in_its_best_clause() -> None:
    found = margin([(0.3, 0.5), (0.4, None)], (0.4, 0.8))

    assert found == pytest.approx(0.0)
    assert is_enough(found, least=-0.14)
    assert not is_enough(-0.2, least=-0.14)


def test_long_messages_may_be_further_behind() -> None:
    assert TRAINED.limit(20) == TRAINED.limit(15) < TRAINED.limit(3) < TRAINED.limit(0)
    assert GENERAL.limit(20) == GENERAL.limit(0)


@pytest.mark.parametrize("cosines", [[], [(None, None)]])
def test_without_vectors_nothing_is_known_so_words_decide(cosines: list[tuple[None, ...]]) -> None:
    assert margin(cosines, (0.4, 0.8)) is None
    assert margin([(0.1, 0.1)], None) is None
    assert is_enough(None, least=-0.14)


def test_nothing_is_relevant_where_there_is_nothing() -> None:
    assert cut([]) > 0


@pytest.mark.parametrize(
    ("scores", "direct"),
    [([], False), ([0.95], True), ([0.95, 0.5], True), ([0.95, 0.9], False), ([0.5, 0.0], False)],
)
def test_direct_needs_a_high_score_and_a_lead(scores: list[float], direct: bool) -> None:
    assert is_direct(scores) is direct
