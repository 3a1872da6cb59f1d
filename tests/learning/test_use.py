"""Votes from past use."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovery.learning.experience_store import Note, read_note, write_note
from discovery.learning.memory import (
    KIND,
    LEVELS,
    OFF,
    REPEAT_WEIGHT,
    START,
    PastCall,
    VoteGains,
    bonuses,
    choice_worth,
    choose_level,
    count_votes,
    gains_by_level,
    sureness,
)
from discovery.select.ranking.fusion import GENERAL, MatchEvidence, MessageFeatures, judge

MAIL, WIKI, CHAT = 1, 2, 3
HIGHEST = len(LEVELS) - 1
experiences = st.lists(
    st.builds(
        PastCall,
        st.integers(1, 4),
        st.integers(1, 6),
        st.floats(-1, 1),
        st.floats(-0.5, 1),
    ),
    max_size=24,
    unique_by=lambda each: (each.capability, each.turn),
)


def test_nearer_messages_say_more() -> None:
    votes = count_votes([PastCall(MAIL, 1, 0.9, 1.0), PastCall(WIKI, 2, 0.6, 1.0)])

    assert votes[MAIL].share > 3 * votes[WIKI].share > 0
    assert votes[MAIL].repeated == votes[WIKI].repeated == 0


def test_one_far_message_says_little_and_one_beyond_the_gate_nothing() -> None:
    assert count_votes([PastCall(MAIL, 1, 0.45, 1.0)])[MAIL].share < 0.2
    assert count_votes([PastCall(MAIL, 1, 0.3, 1.0)])[MAIL].share == 0


def test_message_that_led_to_several_is_one_message() -> None:
    both = count_votes([PastCall(MAIL, 1, 0.8, 1.0), PastCall(WIKI, 1, 0.8, 1.0)])

    assert both[MAIL] == both[WIKI] == count_votes([PastCall(MAIL, 1, 0.8, 1.0)])[MAIL]


def test_failures_count_against_but_half_as_much() -> None:
    assert [choice_worth(score) for score in (0, 0.5, 1)] == [-0.5, 0.25, 1]
    went_badly = count_votes([PastCall(MAIL, 1, 0.8, choice_worth(0))])
    went_well = count_votes([PastCall(MAIL, 1, 0.8, choice_worth(1))])
    assert went_badly[MAIL].share == pytest.approx(-went_well[MAIL].share / 2)


def test_repeated_message_counts_before_anything_was_checked() -> None:
    votes = count_votes([PastCall(MAIL, 1, 0.99, 1.0), PastCall(WIKI, 2, 0.6, 1.0)])

    assert bonuses(votes, 0) == {MAIL: REPEAT_WEIGHT, WIKI: 0.0}
    assert bonuses(votes, OFF) == {}


@given(experiences, st.sampled_from([OFF, *range(len(LEVELS))]))
def test_votes_never_move_more_than_their_weight(near: list[PastCall], level: int) -> None:
    turns = {each.turn: each.likeness for each in near}
    near = [each._replace(likeness=turns[each.turn]) for each in near]

    gained = bonuses(count_votes(near), level)

    most = max(LEVELS[level], REPEAT_WEIGHT)
    assert all(-most / 2 - 1e-9 <= bonus <= most + 1e-9 for bonus in gained.values())


class Remembered:
    """A group's memory of messages of one kind, and the tools as they rank for the next one."""

    def __init__(self, cosines: list[float], before: list[PastCall], level: int) -> None:
        self.cosines, self.level = cosines, level
        self.calls = [call._replace(number=place) for place, call in enumerate(before)]

    def call(self, tool: int, likeness: float, worth: float = 1.0) -> None:
        number = len(self.calls)
        self.calls.append(PastCall(tool, f"turn {number}", likeness, worth, number))

    def ranks(self) -> list[int]:
        votes = count_votes(self.calls)
        gained, sure = bonuses(votes, self.level), sureness(votes, self.level)
        evidence = [
            MatchEvidence((cosine,), (0.0,), use=gained.get(tool, 0.0), sure=sure.get(tool, 0.0))
            for tool, cosine in enumerate(self.cosines, 1)
        ]
        scores = [item.score for item in judge(evidence, MessageFeatures((1.0,)), GENERAL)]
        return sorted(range(1, len(scores) + 1), key=lambda tool: -scores[tool - 1])


cosines = st.lists(st.floats(-0.2, 0.95), min_size=4, max_size=4)
levels = st.sampled_from(range(len(LEVELS)))
of_kind = st.floats(KIND + 0.1, 1.0)


@given(cosines, experiences, levels, of_kind, st.permutations([1, 2, 3, 4]))
def test_three_messages_close_any_gap_and_three_more_another_one(
    matches: list[float], before: list[PastCall], level: int, near: float, tools: list[int]
) -> None:
    kept = [call for call in before if call.likeness <= near + 0.1]  # its kind is this one's
    memory = Remembered(matches, kept, level)

    for tool in tools[:2]:  # the second corrects the first
        for _ in range(3):
            memory.call(tool, near)
        assert memory.ranks()[0] == tool

    for _ in range(3):
        memory.call(tools[1], near, choice_worth(0))
    assert tools[1] not in sureness(count_votes(memory.calls), level)


@given(cosines, levels, st.floats(-1, KIND - 0.001), st.integers(1, 12))
def test_messages_of_another_kind_decide_nothing(
    matches: list[float], level: int, far: float, times: int
) -> None:
    memory = Remembered(matches, [], level)
    for _ in range(times):
        memory.call(3, far)

    assert sureness(count_votes(memory.calls), level) == {}


def test_message_that_called_two_tools_teaches_both_and_a_single_one_decides_nothing() -> None:
    said = [PastCall(tool, turn, 0.9, 1.0, turn) for turn in range(3) for tool in (MAIL, WIKI)]

    assert sureness(count_votes(said), START) == {MAIL: 1.0, WIKI: 1.0}
    assert sureness(count_votes(said[:2]), START) == {MAIL: 0.0, WIKI: 0.0}
    assert sureness(count_votes(said), OFF) == {}


@pytest.mark.parametrize(
    ("gains", "squares", "level"),
    [
        ([0] * 5, [0] * 5, START),
        # Significantly more at each level.
        ([1, 5, 9, 12, 15], [1, 4, 4, 4, 4], HIGHEST),
        # The highest level gains less than the one before.
        ([1, 5, 9, 12, 11], [1, 4, 4, 4, 4], 3),
        # A gain that may be chance, and one that hardly can.
        ([0, 1, 2, 2.9, 2.9], [0, 4, 4, 4, 4], START),
        ([0, 1, 2, 3, 3], [0, 4, 4, 4, 4], 3),
        # Votes do harm, repeated messages do not.
        ([1, -3, -5, -8, -9], [1, 4, 4, 4, 4], 0),
        ([-3, -3, -5, -8, -9], [4, 4, 4, 4, 4], OFF),
    ],
)
def test_later_messages_decide_how_much_votes_count(
    gains: list[float], squares: list[float], level: int
) -> None:
    assert choose_level(VoteGains(gains, squares)) == level


def test_gains_are_those_of_the_rank() -> None:
    strengths = {MAIL: 0.5, WIKI: 0.45, CHAT: 0.1}
    votes = count_votes([PastCall(WIKI, 1, 0.9, 1.0)])

    gains = gains_by_level(strengths, votes)

    second_to_first = 1 - 1 / math.log2(3)
    assert gains[WIKI] == pytest.approx((0, *[second_to_first] * 4))
    assert gains[MAIL] == pytest.approx((0, *[-second_to_first] * 4))
    assert CHAT not in gains
    assert gains_by_level(strengths, {}) == {}


def test_note_is_read_as_it_was_written() -> None:
    vector = np.linspace(-1, 1, 384, dtype=np.float32)

    note = read_note(write_note(Note("modèle", vector, {2**40: (0.0, 0.37, -1.0, 1.0, 0.05)})))

    assert note.model == "modèle"
    assert np.abs(note.vector - vector).max() < 0.001
    assert note.gains_for(2**40) == pytest.approx((0, 0.37, -1, 1, 0.05))
    assert note.gains_for(7) == (0.0,) * len(LEVELS)
