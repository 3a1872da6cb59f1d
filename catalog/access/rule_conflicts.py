"""Conflicts between two rules with an answer that their authors may not expect, in words.

The cases are those of `docs/access.md`. Which rule wins comes from `acl.rights.decision`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from acl.rights.decision import SubjectKind, TargetKind, beats, first_difference, place_of
from acl.rights.precedence import EFFECTS, NO, SUBJECT, TARGET, Criterion

EVERYONE = "everyone"


@dataclass(frozen=True, slots=True)
class Warning_:  # Python has a Warning of its own
    """A surprising conflict and an alternative. `case` is the number in docs/access.md."""

    case: int
    sentence: str
    instead: str

    def __str__(self) -> str:
        return f"{self.sentence} {self.instead}"


@dataclass(frozen=True, slots=True)
class RuleInWords:
    """A rule in words, with the fields that precedence compares."""

    effect: int
    space: str  # its name
    target: str
    target_kind: TargetKind
    subject: str = EVERYONE
    subject_kind: SubjectKind = "everyone"
    distance: int = 0

    def __str__(self) -> str:
        return f"{EFFECTS[self.effect]} {self.target}{self.whom}"

    @property
    def whom(self) -> str:
        """Return the words for its subject, or "" for everyone."""
        return "" if self.subject_kind == "everyone" else f" for {self.subject}"


def surprises(one: RuleInWords, other: RuleInWords) -> Iterator[Warning_]:
    """Warn if just one of two rules denies, and the more precise of them loses."""
    if (one.effect == NO) == (other.effect == NO):
        return
    winner, loser = (one, other) if beats(one, other) else (other, one)
    if winner.effect == NO and winner.distance == loser.distance:
        yield from _lost_exception(winner, loser)
    elif loser.effect == NO and winner.distance < loser.distance:
        yield from _overruled_deny(winner, loser)


def _lost_exception(deny: RuleInWords, other: RuleInWords) -> Iterator[Warning_]:
    """Warn of an allow or a propose that was meant as an exception to a deny in its space."""
    won = f"In {deny.space}, “{deny}” beats “{other}”: {_reason(deny, other)}."
    below = f"put “{other}” in a space below {deny.space}"
    if _narrower(other, deny, TARGET):
        grant = f"Instead of denying {deny.target}, grant only {other.target}; or {below}."
        yield Warning_(27, won, grant)
    if _narrower(other, deny, SUBJECT):
        grant = f"Instead of denying it for {deny.subject}, give it only to those who may have it"
        yield Warning_(31, won, f"{grant}; or {below}.")


def _overruled_deny(other: RuleInWords, deny: RuleInWords) -> Iterator[Warning_]:
    """Warn of a precise deny that a broader allow or propose in a nearer space overrules."""
    if _narrower(deny, other, TARGET) or _narrower(deny, other, SUBJECT):
        won = (
            f"“{other}” in {other.space} beats “{deny}” in {deny.space}: {_reason(other, deny)}, "
            "however precise the rule further up is."
        )
        also = f"To keep {deny.target} out{deny.whom}, deny it in {other.space} as well."
        yield Warning_(30, won, also)


def _narrower(one: RuleInWords, other: RuleInWords, criterion: Criterion) -> bool:
    return place_of(one, criterion) < place_of(other, criterion)


def _reason(winner: RuleInWords, loser: RuleInWords) -> str:
    criterion = first_difference(winner, loser)
    return criterion.wins if criterion else ""
