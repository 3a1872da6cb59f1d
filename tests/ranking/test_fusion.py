"""Fusion of evidence into relevance."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovery.select.ranking.fusion import NAMED, MatchEvidence, MessageFeatures, fuse, judge
from discovery.select.ranking.scales import GENERAL

ONE = MessageFeatures((40.0,))
TWO = MessageFeatures((40.0, 20.0, 20.0))


def test_nothing_gives_nothing() -> None:
    assert fuse([], ONE) == []


def test_nearer_meaning_is_more_relevant() -> None:
    near, far = fuse([MatchEvidence((0.7,), (0.0,)), MatchEvidence((0.3,), (0.0,))], ONE)

    assert near > far


def test_shared_words_add_to_meaning() -> None:
    worded, silent = fuse([MatchEvidence((0.5,), (18.0,)), MatchEvidence((0.5,), (0.0,))], ONE)

    assert worded > silent


def test_words_count_more_where_the_message_echoes_a_tool() -> None:
    """The same words, best each time, within longer messages."""
    echo, story = (
        fuse([MatchEvidence((0.4,), (18.0,))], MessageFeatures((ideal,)))[0]
        for ideal in (30.0, 300.0)
    )

    assert echo > story


def test_capability_called_by_name_comes_first() -> None:
    scores = fuse(
        [MatchEvidence((0.95,), (39.0,)), MatchEvidence((0.05,), (0.0,), exact_name=True)], ONE
    )

    assert scores[1] >= NAMED >= scores[0]


def test_each_clause_lifts_its_own_best() -> None:
    mail = MatchEvidence((0.45, 0.8, 0.1), (0.0, 0.0, 0.0))
    music = MatchEvidence((0.25, 0.1, 0.5), (0.0, 0.0, 0.0))
    second_mail = MatchEvidence((0.42, 0.6, 0.1), (0.0, 0.0, 0.0))

    scores = fuse([mail, second_mail, music], TWO)

    assert scores[0] > scores[1]
    assert (
        scores[2] > fuse([mail, second_mail, MatchEvidence((0.25, 0.1, 0.1), (0.0,) * 3)], TWO)[2]
    )


def test_less_of_the_whole_lets_a_clause_that_is_met_well_win() -> None:
    of_the_whole = MatchEvidence((0.6, 0.4, 0.4), (0.0, 0.0, 0.0))
    of_a_clause = MatchEvidence((0.4, 0.7, 0.1), (0.0, 0.0, 0.0))

    def ahead(whole: float) -> bool:
        scale = GENERAL._replace(whole=whole)
        first, second = judge([of_the_whole, of_a_clause], TWO, scale)
        return second.strength > first.strength

    assert [ahead(whole) for whole in (4.0, 0.25)] == [False, True]


def test_tools_lose_what_their_server_is_behind_where_there_are_several_clauses() -> None:
    worded = (0.0, 0.0, 0.0)
    tool = MatchEvidence((0.5, 0.5, 0.3), worded, server=(0.6, 0.5, 0.4))
    beside = MatchEvidence((0.5, 0.5, 0.3), worded, server=(0.3, 0.5, 0.1))
    skill = MatchEvidence((0.5, 0.5, 0.3), worded)
    pending = MatchEvidence((None, None, None), worded, server=(0.3, 0.5, 0.1))

    at_best, behind, alone, _ = judge([tool, beside, skill, pending], TWO)

    assert at_best == alone == judge([skill], TWO)[0]  # the best server's tools lose nothing
    assert at_best.score > behind.score
    assert behind.clause_scores[0] == at_best.clause_scores[0]
    one_server = [tool, tool._replace(cosines=(0.4, 0.2, 0.6))]
    none = [item._replace(server=()) for item in one_server]
    assert judge(one_server, TWO) == judge(none, TWO)
    single = [
        MatchEvidence((0.5,), (0.0,), server=(0.6,)),
        MatchEvidence((0.5,), (0.0,), server=(0.1,)),
    ]
    assert len(set(fuse(single, ONE))) == 1


def test_words_that_fit_badly_count_less_by_a_higher_power() -> None:
    def words(reached: float, power: float) -> float:
        scale = GENERAL._replace(word_power=power)
        return judge([MatchEvidence((0.4,), (reached,))], ONE, scale)[0].words

    assert words(40.0, 0.5) == pytest.approx(words(40.0, 1.0)) == pytest.approx(GENERAL.word_weight)
    assert words(10.0, 0.5) == pytest.approx(GENERAL.word_weight / 2)
    assert words(10.0, 1.0) == pytest.approx(GENERAL.word_weight / 4)


def test_clauses_are_scored_by_themselves() -> None:
    judged = judge([MatchEvidence((0.4, 0.8, 0.1), (0.0, 0.0, 0.0))], TWO)[0]

    assert judged.clause_scores[0] > 0.5 > judged.clause_scores[1]
    assert (judged.meaning, judged.words) == (0.8, 0.0)


def test_capability_without_a_vector_competes_by_its_words() -> None:
    pending, unlike = fuse([MatchEvidence((None,), (20.0,)), MatchEvidence((0.2,), (0.0,))], ONE)

    assert pending > unlike


def test_message_without_known_words_is_ranked_by_meaning() -> None:
    first, second = fuse(
        [MatchEvidence((0.6,), (0.0,)), MatchEvidence((0.2,), (0.0,))], MessageFeatures((0.0,))
    )

    assert first > second


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 200)), min_size=1, max_size=30))
def test_relevance_is_always_between_0_and_1(pairs: list[tuple[float, float]]) -> None:
    scores = fuse([MatchEvidence((cosine,), (words,)) for cosine, words in pairs], ONE)

    assert all(0 <= score <= 1 for score in scores)


@given(st.floats(0, 1), st.floats(0, 1))
def test_relevance_of_one_does_not_depend_on_weaker_others(first: float, second: float) -> None:
    strong = MatchEvidence((max(first, second),), (10.0,))

    alone = fuse([strong], ONE)[0]

    assert fuse([strong, MatchEvidence((min(first, second),), (5.0,))], ONE)[0] == pytest.approx(
        alone
    )
