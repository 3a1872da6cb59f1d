"""Allocation of places."""

from discovery.select.ranking.thresholds import PlaceCandidate, choose


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


def test_small_talk_leaves_only_the_pinned() -> None:
    candidates = [PlaceCandidate(1, 0.9, core=True), PlaceCandidate(2, 0.1, pinned=True)]

    assert _keys(candidates, threshold=2.0) == [2]
