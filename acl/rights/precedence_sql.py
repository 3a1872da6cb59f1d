"""The precedence as SQL: the fragments from which the statements of rights are put together.

A rule's rank is one integer with a digit for each criterion; the smallest rank wins. The first
rule is then a plain min(), and several levels combine by LEAST(), which skips NULLs.
"""

from dataclasses import dataclass
from math import prod
from typing import Literal

from django.utils.translation import gettext_noop

# Precedence of rules, grants and defaults: the one description of what beats what.
# `decision` compares rules in Python by it, `precedence_sql` writes the parts of the statements
# from it, and docs/access.md shows it. To change how rules resolve, change it here, then the
# worked cases in `tests/access/worked_cases.py` and the oracle, which must not read this. A new
# criterion needs its value in `decision` and its digit in `precedence_sql`, too.

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
