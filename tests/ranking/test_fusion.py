"""Fusion of evidence: bounded gains of relations, own evidence, and the allocation of places."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.embedding.embedder import Vectors
from catalog.embedding.multilingual_model import MultilingualEncoder, prepare_multilingual, read_map
from catalog.embedding.onnx_embedder import OnnxEmbedder
from catalog.embedding.query_vectors import EmbeddedTexts
from discovery.select.judgements import MOST_COST, MOST_OF_WRITING, costs_of_effects
from discovery.select.ranking.competition import needs_own_evidence
from discovery.select.ranking.fusion import (
    GENERAL,
    NAMED,
    MatchEvidence,
    MessageFeatures,
    fuse,
    judge,
)
from discovery.select.ranking.relation_gains import (
    PulledIn,
    RankedRelation,
    gains,
    pull_in,
    relations_by_shared,
)
from discovery.select.ranking.thresholds import PlaceCandidate, choose
from tests.ranking.conftest import needs_package
from tests.ranking.languages import DELETIONS

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

    assert set(relations_by_shared(names)) == {
        RankedRelation(1, 2, "TAGGED_WITH", 0.6),
        RankedRelation(1, 3, "SAME_CATEGORY", 0.1),
    }


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


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> MultilingualEncoder:
    root = tmp_path_factory.mktemp("languages")
    prepare_multilingual(root)
    return MultilingualEncoder(root)


def _embed(
    messages: list[str], language: str, shipped: OnnxEmbedder, encoder: MultilingualEncoder
) -> list[EmbeddedTexts]:
    english = language == "en"
    vectors = shipped.embed(messages) if english else read_map().apply(encoder.embed(messages))
    return [EmbeddedTexts(shipped.name, vector[None]) for vector in vectors]


@needs_package
def test_requests_that_delete_are_told_in_any_language(
    embedder: OnnxEmbedder, encoder: MultilingualEncoder
) -> None:
    deleting = [
        costs_of_effects(embedded)["delete"] <= 0.2
        for language, messages in DELETIONS["deleting"].items()
        for embedded in _embed(messages, language, embedder, encoder)
    ]
    others = [
        costs_of_effects(embedded)["delete"] <= 0.2
        for language, messages in DELETIONS["others"].items()
        for embedded in _embed(messages, language, embedder, encoder)
    ]

    assert np.mean(deleting) >= 0.95
    assert np.mean(others) <= 0.25


def test_one_clause_that_deletes_is_enough_and_an_unknown_model_too(embedder: OnnxEmbedder) -> None:
    texts = ("add milk to the list and delete the meeting", "add milk to the list")
    vectors: Vectors = embedder.embed((*texts, "delete the meeting"))

    assert costs_of_effects(EmbeddedTexts(embedder.name, vectors[1:2]))["delete"] > 0.2
    assert costs_of_effects(EmbeddedTexts(embedder.name, vectors))["delete"] == 0
    assert costs_of_effects(EmbeddedTexts("another", vectors[1:2])) == costs_of_effects(None) == {}


def test_another_clause_never_makes_a_deletion_dearer(embedder: OnnxEmbedder) -> None:
    dice = np.random.default_rng(3)
    for _ in range(200):
        vectors = np.float32(0.1) * dice.normal(size=(3, 384)).astype(np.float32)
        texts = [EmbeddedTexts(embedder.name, vectors[:count]) for count in (1, 2, 3)]
        costs = [costs_of_effects(text)["delete"] for text in texts]
        assert min(costs) >= 0
        assert max(costs) <= MOST_COST
        assert all(np.diff(costs) <= 1e-6)


_THINGS = (
    "appointments next week", "unpaid invoices", "a note about the boiler",
    "orders of this customer", "files in the folder", "members of the team",
    "tasks of the project", "messages from Anna",
)  # fmt: skip


def _costs_of_writing(verbs: tuple[str, ...], embedder: OnnxEmbedder) -> npt.NDArray[np.float64]:
    vectors = embedder.embed([f"{verb} {thing}" for verb in verbs for thing in _THINGS])
    texts = [EmbeddedTexts(embedder.name, row[None]) for row in vectors]
    return np.array([costs_of_effects(text)["write"] for text in texts])


def test_tools_that_write_lose_for_who_only_reads(embedder: OnnxEmbedder) -> None:
    reading = ("show me", "list", "find", "look up", "which are the", "how many")
    writing = ("create", "add", "send", "update", "rename", "upload")

    of_reading = _costs_of_writing(reading, embedder)
    of_writing = _costs_of_writing(writing, embedder)

    assert np.mean(of_reading > 0) >= 0.6
    assert np.mean(of_writing > 0) <= 0.05
    assert of_reading.max() <= MOST_OF_WRITING


def test_one_clause_that_writes_is_enough(embedder: OnnxEmbedder) -> None:
    texts = ("find unpaid invoices and send Anna a reminder", "find unpaid invoices", "send it")
    vectors = embedder.embed(texts)

    assert costs_of_effects(EmbeddedTexts(embedder.name, vectors[1:2]))["write"] > 0
    assert costs_of_effects(EmbeddedTexts(embedder.name, vectors))["write"] == 0


@given(
    st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 40)), min_size=2, max_size=8),
    st.floats(0, MOST_COST),
)
def test_unasked_deletion_loses_and_nothing_else_moves(
    matches: list[tuple[float, float]], cost: float
) -> None:
    evidence = [MatchEvidence((cosine,), (words,)) for cosine, words in matches]
    message = MessageFeatures((80.0,))
    unasked = [evidence[0]._replace(against=cost), *evidence[1:]]

    before, after = judge(evidence, message), judge(unasked, message)

    assert after[0].strength == pytest.approx(before[0].strength - cost)
    assert after[1:] == before[1:]


def _keys(
    candidates: list[PlaceCandidate], max_tools: int = 10, threshold: float = 0.1
) -> list[int]:
    chosen = choose(candidates, max_tools=max_tools, threshold=threshold)
    return [place.candidate.key for place in chosen]


def test_places_go_to_the_most_relevant() -> None:
    candidates = [PlaceCandidate(key, score=key / 100) for key in range(11, 40)]

    assert _keys(candidates, max_tools=3) == [39, 38, 37]


def test_pinned_one_has_a_place_whatever_its_relevance() -> None:
    candidates = [
        PlaceCandidate(1, 0.9),
        PlaceCandidate(2, 0.8),
        PlaceCandidate(3, 0.0, pinned=True),
    ]

    assert _keys(candidates, max_tools=2) == [1, 3]


def test_irrelevant_core_tool_gets_no_place() -> None:
    assert _keys([PlaceCandidate(1, 0.9), PlaceCandidate(2, 0.05, core=True)]) == [1]


def test_core_tools_are_not_crowded_out() -> None:
    others = [PlaceCandidate(key, 0.9) for key in range(10)]
    core = [PlaceCandidate(key, 0.7, core=True) for key in range(100, 110)]

    chosen = _keys([*others, *core])

    assert sum(key >= 100 for key in chosen) == 3
    assert len(chosen) == 10


def test_core_tool_far_behind_the_best_has_no_place_kept() -> None:
    others = [PlaceCandidate(key, 0.9) for key in range(10)]

    assert 100 not in _keys([*others, PlaceCandidate(100, 0.5, core=True)])


def test_core_places_that_are_not_needed_go_to_others() -> None:
    assert len(_keys([PlaceCandidate(key, 0.9) for key in range(12)])) == 10


def test_best_of_each_clause_gets_in() -> None:
    mail = [PlaceCandidate(key, 0.9, clause_scores=(0.9, 0.1)) for key in range(5)]
    music = PlaceCandidate(9, 0.3, clause_scores=(0.1, 0.6))

    chosen = choose([*mail, music], max_tools=3, threshold=0.1)

    assert chosen[-1].candidate.key == 9
    assert chosen[-1].clause == 1


def test_same_definition_on_two_servers_takes_one_place() -> None:
    twins = [PlaceCandidate(1, 0.9, fingerprint="same"), PlaceCandidate(2, 0.8, fingerprint="same")]

    chosen = choose([*twins, PlaceCandidate(3, 0.7)], max_tools=2, threshold=0.1)

    assert [(place.candidate.key, place.alternatives) for place in chosen] == [(1, (2,)), (3, ())]


def test_pinned_twin_stands_for_the_others() -> None:
    twins = [
        PlaceCandidate(1, 0.9, fingerprint="same"),
        PlaceCandidate(2, 0.0, pinned=True, fingerprint="same"),
    ]

    assert _keys(twins) == [2]


@given(
    st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), min_size=2, max_size=6),
    st.integers(0, 5),
)
def test_follow_up_says_something_itself(cosines: list[tuple[float, float]], one: int) -> None:
    evidence = [MatchEvidence(pair, (0.0, 0.0)) for pair in cosines]
    place = one % len(evidence)
    before, own = cosines[place]
    nearer = [*evidence]
    nearer[place] = MatchEvidence((before, min(1.0, own + 0.2)), (0.0, 0.0))
    message = MessageFeatures((40.0, 20.0), goes_on=True)

    assert fuse(nearer, message)[place] >= fuse(evidence, message)[place]
    by_itself = MessageFeatures((40.0, 20.0))
    assert fuse(nearer, by_itself) == fuse(evidence, by_itself)


def test_small_talk_leaves_only_the_pinned() -> None:
    candidates = [PlaceCandidate(1, 0.9, core=True), PlaceCandidate(2, 0.1, pinned=True)]

    assert _keys(candidates, threshold=2.0) == [2]
