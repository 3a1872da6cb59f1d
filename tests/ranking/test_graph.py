"""Effects of relations on a ranking: bounded gains, and extra places."""

from hypothesis import given
from hypothesis import strategies as st

from discovery.select.ranking.relation_gains import (
    PulledIn,
    RankedRelation,
    gains,
    links_by_shared,
    pull_in,
)

scores = st.dictionaries(st.integers(0, 9), st.floats(0, 1), max_size=10)
links = st.lists(
    st.builds(
        RankedRelation,
        st.integers(0, 9),
        st.integers(0, 9),
        st.sampled_from(["DEPENDS_ON", "COMPOSED_WITH", "TAGGED_WITH", "DECLARED"]),
        st.floats(0, 1),
    ),
    max_size=30,
)


def test_two_related_results_both_gain() -> None:
    found = gains({1: 0.5, 2: 0.4, 3: 0.3}, [RankedRelation(1, 2, "DEPENDS_ON", 1.0)], boost=0.15)

    assert set(found) == {1, 2}
    assert found[1].partner == 2
    assert 0.5 < found[1].score < 0.54
    assert 0.4 < found[2].score < 0.44


def test_heavier_link_gains_more() -> None:
    light = gains({1: 0.5, 2: 0.5}, [RankedRelation(1, 2, "SAME_CATEGORY", 0.1)], boost=0.15)
    heavy = gains({1: 0.5, 2: 0.5}, [RankedRelation(1, 2, "DEPENDS_ON", 1.0)], boost=0.15)

    assert light[1].score < heavy[1].score


def test_what_everything_needs_gains_but_once() -> None:
    one = gains({1: 0.3, 2: 0.5}, [RankedRelation(2, 1, "DEPENDS_ON", 1.0)], boost=0.15)
    all_of_them = gains(
        {1: 0.3, **dict.fromkeys(range(2, 9), 0.5)},
        [RankedRelation(other, 1, "DEPENDS_ON", 1.0) for other in range(2, 9)],
        boost=0.15,
    )

    assert all_of_them[1].score == one[1].score


def test_link_out_of_the_results_gains_nothing() -> None:
    assert gains({1: 0.5}, [RankedRelation(1, 2, "DEPENDS_ON", 1.0)], boost=0.15) == {}


@given(scores, links, st.floats(0, 1))
def test_gains_stay_within_the_scale_and_never_take(
    results: dict[int, float], some: list[RankedRelation], boost: float
) -> None:
    for key, gain in gains(results, some, boost=boost).items():
        assert results[key] - 1e-9 <= gain.score <= 1


@given(scores, links)
def test_without_boost_nothing_moves(results: dict[int, float], some: list[RankedRelation]) -> None:
    found = gains(results, some, boost=0)

    assert all(abs(gain.score - results[key]) < 1e-9 for key, gain in found.items())
    assert pull_in(results, range(10), some, boost=0) == []


def test_need_is_pulled_in_with_its_share_of_the_parent() -> None:
    pulled = pull_in({1: 0.8}, {2, 3}, [RankedRelation(1, 2, "DEPENDS_ON", 1.0)], boost=0.15)

    assert pulled == [PulledIn(2, 0.8 * 0.15, 1, "DEPENDS_ON")]


def test_a_need_leads_one_way_and_a_composition_both() -> None:
    needed = [RankedRelation(2, 1, "DEPENDS_ON", 1.0)]
    composed = [RankedRelation(2, 1, "COMPOSED_WITH", 0.5)]

    assert pull_in({1: 0.8}, {2}, needed, boost=0.15) == []
    assert [one.key for one in pull_in({1: 0.8}, {2}, composed, boost=0.15)] == [2]


def test_likeness_pulls_nothing_in() -> None:
    alike = [
        RankedRelation(1, 2, kind, 1.0) for kind in ("TAGGED_WITH", "SAME_CATEGORY", "DECLARED")
    ]

    assert pull_in({1: 0.8}, {2}, alike, boost=0.15) == []


def test_two_places_for_what_the_best_need() -> None:
    needs = [RankedRelation(1, other, "DEPENDS_ON", other / 10) for other in range(2, 8)]

    assert [one.key for one in pull_in({1: 0.8}, range(2, 8), needs, boost=0.15)] == [7, 6]


def test_last_of_the_ranking_brings_nothing_along() -> None:
    needs = [RankedRelation(1, 8, "DEPENDS_ON", 0.1), RankedRelation(2, 9, "DEPENDS_ON", 1.0)]

    pulled = pull_in({1: 0.8, 2: 0.4}, {8, 9}, needs, boost=0.15)

    assert [one.key for one in pulled] == [8]


def test_each_is_pulled_in_once_by_the_better_parent() -> None:
    needs = [RankedRelation(1, 9, "DEPENDS_ON", 1.0), RankedRelation(2, 9, "DEPENDS_ON", 1.0)]

    assert [one.parent for one in pull_in({1: 0.7, 2: 0.8}, {9}, needs, boost=0.15)] == [2]


@given(scores, links, st.floats(0, 1), st.sets(st.integers(0, 9)))
def test_only_what_is_outside_is_pulled_in(
    parents: dict[int, float], some: list[RankedRelation], boost: float, outside: set[int]
) -> None:
    pulled = pull_in(parents, outside - set(parents), some, boost=boost)

    assert len(pulled) <= 2
    assert {one.key for one in pulled} <= outside - set(parents)
    assert all(0 < one.score <= 1 for one in pulled)


def test_two_tags_or_a_category_relate() -> None:
    names = {1: ["#a", "#b", "tool:x"], 2: ["#a", "#b"], 3: ["#a", "tool:x"]}

    assert set(links_by_shared(names)) == {
        RankedRelation(1, 2, "TAGGED_WITH", 0.6),
        RankedRelation(1, 3, "SAME_CATEGORY", 0.1),
    }
