"""The precedence of rules, grants and defaults: its description, as SQL, and decided in Python.

The statement of rights, put together from the SQL, is what grants. A rule's rank is one integer
with a digit for each criterion; the smallest rank wins. The first rule is then a plain min(), and
several levels combine by LEAST(), which skips NULLs.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Literal, Protocol

from django.utils.translation import gettext_noop

# The one description of what beats what; docs/access.md shows it. To change how rules resolve,
# change it here, then the worked cases in `tests/access/worked_cases.py` and the oracle, which must
# not read this. A new criterion needs its digit in the SQL and its value in `place_of`, too.

Decision = Literal["no", "propose", "allow"]
Rung = Literal["rule", "grant", "default"]
GrantKind = Literal["capability user", "integration user", "capability group", "integration group"]

# A rule's effect by the number that is stored, and the answer that it gives.
NO, PROPOSE, ALLOW = range(3)
EFFECTS = ("deny", "propose", "allow")
DECISIONS: tuple[Decision, ...] = ("no", "propose", "allow")


@dataclass(frozen=True, slots=True)
class Criterion:
    """A property of rules, to compare two by. The earlier of its values wins."""

    name: str
    values: tuple[str, ...]
    wins: str  # in words, to follow "because"


# Its values are distances from the caller's space upwards: 0, 1, 2 …
SPACE = Criterion("space", (), gettext_noop("the nearer space wins"))
EFFECT = Criterion(
    "effect", ("deny", "propose", "allow"), gettext_noop("within one space the stricter rule wins")
)
# From the narrower to the wider: a warning is due where the narrower rule loses.
SUBJECT = Criterion(
    "subject",
    ("user", "group", "everyone"),
    gettext_noop("within one space the rule for fewer people wins"),
)
TARGET = Criterion(
    "target",
    ("capability", "integration"),
    gettext_noop("within one space the rule about one capability wins"),
)

# Two rules are compared by these in turn; the first in which they differ decides. What is left out
# counts for nothing. EFFECT must be among them, since it is the answer.
PRECEDENCE = (SPACE, EFFECT)

# The same for people, beside the rules of a space. Another order has no words until it gets them.
IN_WORDS = {
    (SPACE, EFFECT): (
        gettext_noop("Rules take precedence over grants and defaults. The nearest space wins."),
        gettext_noop("Within a space, deny beats ask first, and ask first beats allow."),
    )
}[PRECEDENCE]

# Several rules may share the first place and give the same answer. Explain names the first by
# these, then the oldest.
NAMED_FIRST = (TARGET,)

# The first of these that says anything decides; the default always does. A capability that asks
# first by its own setting asks first even then.
LADDER: tuple[Rung, ...] = ("rule", "grant", "default")

# Every grant allows. Explain names the first of these.
GRANTS: tuple[GrantKind, ...] = (
    "capability user",
    "integration user",
    "capability group",
    "integration group",
)


# How many values a digit has room for. A path ends 32 spaces up.
_DISTANCES, _VALUES = 64, 4

# An integration that can be used at all, as alias i.
LIVE = "i.enabled AND i.state = 'approved'"
# A person's own server is nobody else's, whatever a rule or a grant says.
THEIRS = "({integration}.owner_id IS NULL OR {integration}.owner_id = {user})"
# The answer, from the ground's verdict: a capability's own setting may make it ask first.
MODE = f"CASE WHEN ai_access = 'propose' THEN {PROPOSE} ELSE verdict END"
# By model too: another model may have a permission of that name.
PERMISSIONS = """
permission AS MATERIALIZED (
  SELECT p.id, p.codename
  FROM auth_permission p JOIN django_content_type t ON t.id = p.content_type_id
  WHERE (p.codename = 'use_integration' AND t.app_label || '_' || t.model = '{integration}')
     OR (p.codename = 'use_capability' AND t.app_label || '_' || t.model = '{capability}')
)"""

# A rule for everyone names neither a user nor a group.
_APPLIES = """({rule}.user_id IS NULL AND {rule}.group_id IS NULL) OR {rule}.user_id = {user}
     OR {rule}.group_id IN (SELECT m.group_id FROM auth_user_groups m WHERE m.user_id = {user})"""


def rank_sql(*, rule: str, distance: str) -> str:
    """Return the rank of a rule (an alias of its table) in a space so far away."""
    digits = ((_digit(criterion, rule, distance), _weight(criterion)) for criterion in PRECEDENCE)
    return " + ".join(f"{digit} * {weight}" if weight > 1 else digit for digit, weight in digits)


def effect_sql(rank: str) -> str:
    """Return the effect of the rule that has this rank; NULL where there is none."""
    weight = _weight(EFFECT)
    digit = f"{rank} / {weight} %% {_VALUES}" if weight > 1 else f"{rank} %% {_VALUES}"
    if EFFECT.values == EFFECTS:
        return digit
    effects = ", ".join(str(EFFECTS.index(value)) for value in EFFECT.values)
    return f"(ARRAY[{effects}])[{digit} + 1]"


def verdict_sql(*, rank: str, granted: str) -> str:
    """Return what the ladder says: a rule first, then grants and the default, which only allow."""
    return f"COALESCE({effect_sql(rank)}, ({granted})::int * {ALLOW})"


def granted_sql(*, granted: str, is_open: str, restricted: str) -> str:
    """Return true if a grant or, failing that, the group's default allows."""
    return f"{granted} OR ({is_open} AND NOT {restricted})"


def applies_sql(*, rule: str, user: str) -> str:
    """Return the condition under which a rule applies to a user."""
    return _APPLIES.format(rule=rule, user=user)


def naming_order_sql(*, rule: str) -> str:
    """Return the order in which rules with a `rank` are named, the deciding one first."""
    places = (_digit(criterion, rule, "0") for criterion in NAMED_FIRST)
    return ", ".join([f"{rule}.rank", *places, f"{rule}.id"])


def _digit(criterion: Criterion, rule: str, distance: str) -> str:
    """Return the place of a rule by a criterion: 0 is the strongest."""
    user, group, everyone = map(SUBJECT.values.index, ("user", "group", "everyone"))
    capability, integration = map(TARGET.values.index, ("capability", "integration"))
    return {
        SPACE: distance,
        EFFECT: _effect(rule),
        SUBJECT: (
            f"CASE WHEN {rule}.user_id IS NOT NULL THEN {user}"
            f" WHEN {rule}.group_id IS NOT NULL THEN {group} ELSE {everyone} END"
        ),
        TARGET: f"CASE WHEN {rule}.capability_id IS NULL THEN {integration} ELSE {capability} END",
    }[criterion]


def _effect(rule: str) -> str:
    if EFFECT.values == EFFECTS:  # as stored
        return f"{rule}.effect"
    places = (EFFECT.values.index(effect) for effect in EFFECTS)
    return f"(ARRAY[{', '.join(map(str, places))}])[{rule}.effect + 1]"


def _weight(criterion: Criterion) -> int:
    """Return the weight of a criterion's digit: the room that all after it need."""
    after = PRECEDENCE[PRECEDENCE.index(criterion) + 1 :]
    return prod(_DISTANCES if later is SPACE else _VALUES for later in after)


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
