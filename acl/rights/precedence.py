"""Precedence of rules, grants and defaults: the one description of what beats what.

`decision` compares rules in Python by it, `precedence_sql` writes the parts of the statements from
it, and docs/access.md shows it. To change how rules resolve, change it here, then the worked cases
in `tests/access/worked_cases.py` and the oracle, which must not read this. A new criterion needs
its value in `decision` and its digit in `precedence_sql`, too.
"""

from dataclasses import dataclass
from typing import Literal

from django.utils.translation import gettext_noop

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
