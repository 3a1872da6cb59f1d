"""Decisions in Python, by the same precedence as the SQL.

The statement of rights is what grants. From the facts that it reads, this tells which rule, grant
or default decides, and why one rule beats another.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

from acl.rights.precedence_sql import (
    ALLOW,
    DECISIONS,
    EFFECT,
    EFFECTS,
    GRANTS,
    LADDER,
    NAMED_FIRST,
    NO,
    PRECEDENCE,
    PROPOSE,
    SPACE,
    SUBJECT,
    TARGET,
    Criterion,
    Decision,
    GrantKind,
    Rung,
)

SubjectKind = Literal["user", "group", "everyone"]
TargetKind = Literal["capability", "integration"]
Stop = Literal["nobody", "switched-off", "application"]
Ground = Literal["nobody", "switched-off", "application", "rule", "grant", "default", "own"]


class ComparableRule(Protocol):
    """A rule as far as precedence looks at it."""

    @property
    def distance(self) -> int: ...
    @property
    def effect(self) -> int: ...
    @property
    def subject_kind(self) -> SubjectKind: ...
    @property
    def target_kind(self) -> TargetKind: ...


@dataclass(frozen=True, slots=True)
class RuleKind:
    """A rule without names."""

    effect: int
    subject_kind: SubjectKind = "everyone"
    target_kind: TargetKind = "integration"
    distance: int = 0


RULE_KINDS = tuple(
    RuleKind(EFFECTS.index(effect), subject, target)  # type: ignore[arg-type]
    for effect in EFFECT.values
    for subject in SUBJECT.values
    for target in TARGET.values
)


@dataclass(frozen=True, slots=True)
class RuleFact:
    """A rule on the caller's path, applying to the caller and to the capability."""

    rule: int
    effect: int
    distance: int
    space: str
    space_name: str
    user: str | None
    group: str | None
    on_capability: bool

    @property
    def subject_kind(self) -> SubjectKind:
        return "user" if self.user else "group" if self.group else "everyone"

    @property
    def target_kind(self) -> TargetKind:
        return "capability" if self.on_capability else "integration"


@dataclass(frozen=True, slots=True)
class RightsFacts:
    """Rules, grants and settings for one caller and one capability, in any order."""

    rules: tuple[RuleFact, ...] = ()
    grants: tuple[GrantKind, ...] = ()
    by_default: bool = False  # an open group, and an integration that is not restricted
    asks_first: bool = False  # by the capability's own setting
    # Nobody asks, it is switched off, or kept from the application: nothing else is looked at.
    stop: Stop | None = None


@dataclass(frozen=True, slots=True)
class Resolution:
    """The answer, and what it rests on."""

    decision: Decision
    decides: Ground
    rules: tuple[RuleFact, ...]  # the strongest first
    grants: tuple[GrantKind, ...]  # the most precise first
    beaten: tuple[RuleFact, ...]  # rules with another effect than the one that decides


def decide(facts: RightsFacts) -> Resolution:
    """Return the answer to the facts, and what it rests on."""
    rules = tuple(sorted(facts.rules, key=_naming_order))
    grants = tuple(sorted(facts.grants, key=GRANTS.index))
    if facts.stop is not None:
        return Resolution("no", facts.stop, rules, grants, beaten=())
    says: dict[Rung, int | None] = {
        "rule": rules[0].effect if rules else None,
        "grant": ALLOW if grants else None,
        "default": ALLOW if facts.by_default else NO,
    }
    ground, effect = _first_to_speak((kind, says[kind]) for kind in LADDER)
    beaten = tuple(rule for rule in rules if rule.effect != rules[0].effect)
    if effect == ALLOW and facts.asks_first:
        return Resolution(DECISIONS[PROPOSE], "own", rules, grants, beaten)
    return Resolution(DECISIONS[effect], ground, rules, grants, beaten)


def beats(first: ComparableRule, second: ComparableRule) -> bool:
    """Return True if the first rule wins where both apply."""
    return _strength(first) < _strength(second)


def first_difference(first: ComparableRule, second: ComparableRule) -> Criterion | None:
    """Return the criterion that decides between two rules; None if neither wins."""
    differ = (c for c in PRECEDENCE if place_of(first, c) != place_of(second, c))
    return next(differ, None)


def place_of(rule: ComparableRule, criterion: Criterion) -> int:
    """Return the rule's place by a criterion: 0 is the strongest."""
    if criterion is SPACE:
        return rule.distance
    value = {
        EFFECT: EFFECTS[rule.effect],
        SUBJECT: rule.subject_kind,
        TARGET: rule.target_kind,
    }[criterion]
    return criterion.values.index(value)


def _strength(rule: ComparableRule) -> tuple[int, ...]:
    return tuple(place_of(rule, criterion) for criterion in PRECEDENCE)


def _naming_order(rule: RuleFact) -> tuple[int, ...]:
    return (*_strength(rule), *(place_of(rule, criterion) for criterion in NAMED_FIRST), rule.rule)


def _first_to_speak(says: Iterable[tuple[Ground, int | None]]) -> tuple[Ground, int]:
    return next((ground, effect) for ground, effect in says if effect is not None)
