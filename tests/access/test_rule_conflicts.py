"""Warnings of rules that lose, compared with the order of precedence as it is now.

Whoever changes the order finds here which losses need other words.
"""

from itertools import product

from acl.rights.decision import RULE_KINDS, beats, place_of
from acl.rights.precedence_sql import NO, SUBJECT, TARGET
from catalog.access._rule_conflicts import RuleInWords, find_conflicts

RULES = [
    RuleInWords(
        kind.effect,
        f"Space {distance}",
        "it",
        kind.target_kind,
        "them",
        kind.subject_kind,
        distance,
    )
    for kind, distance in product(RULE_KINDS, range(2))
]


def test_who_wrote_a_more_precise_rule_is_warned_if_it_loses() -> None:
    pairs = [
        (one, other)
        for one, other in product(RULES, RULES)
        if (one.effect == NO) > (other.effect == NO)
    ]

    for deny, other in pairs:
        winner, loser = (deny, other) if beats(deny, other) else (other, deny)
        # Everyone expects a nearer deny to win.
        is_surprising = is_narrower(loser, winner) and not (
            winner is deny and winner.distance < loser.distance
        )
        assert bool(list(find_conflicts(deny, other))) == is_surprising, f"{winner} beats {loser}"


def is_narrower(one: RuleInWords, other: RuleInWords) -> bool:
    return any(place_of(one, by) < place_of(other, by) for by in (TARGET, SUBJECT))
