"""Conflicts between two rules with an answer that their authors may not expect, in words.

The cases are those of `docs/access-cases.md`. Which rule wins comes from `acl.rights.decision`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from acl.platform.answer_model import Answer, Shown
from acl.rights.decision import SubjectKind, TargetKind, beats, first_difference, place_of
from acl.rights.precedence_sql import EFFECTS, NO, SUBJECT, TARGET, Criterion

EVERYONE = "everyone"
_FOR_ALL = {
    "deny": gettext_lazy("deny %(target)s"),
    "propose": gettext_lazy("ask first for %(target)s"),
    "allow": gettext_lazy("allow %(target)s"),
}
_FOR_SOME = {
    "deny": gettext_lazy("deny %(target)s for %(subject)s"),
    "propose": gettext_lazy("ask first for %(target)s for %(subject)s"),
    "allow": gettext_lazy("allow %(target)s for %(subject)s"),
}


@dataclass(frozen=True, slots=True)
class RuleConflict(Answer):  # Python has a Warning of its own
    """A warning about a surprising decision, and an alternative."""

    component = "Advice"

    case: Annotated[int, Shown("Its number among the cases in the documentation.")]
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
        message = (_FOR_ALL if self.is_for_all else _FOR_SOME)[EFFECTS[self.effect]]
        return str(message) % {"target": self.target, "subject": self.subject}

    @property
    def is_for_all(self) -> bool:
        """Return True for a rule for everyone."""
        return self.subject_kind == "everyone"


def find_conflicts(first: RuleInWords, second: RuleInWords) -> Iterator[RuleConflict]:
    """Warn if just one of two rules denies, and the more precise of them loses."""
    if (first.effect == NO) == (second.effect == NO):
        return
    winner, loser = (first, second) if beats(first, second) else (second, first)
    if winner.effect == NO and winner.distance == loser.distance:
        yield from _lost_exception(winner, loser)
    elif loser.effect == NO and winner.distance < loser.distance:
        yield from _overruled_deny(winner, loser)


def _lost_exception(deny: RuleInWords, exception: RuleInWords) -> Iterator[RuleConflict]:
    """Warn of an allow or a propose that was meant as an exception to a deny in its space."""
    names = {
        "space": deny.space,
        "deny": deny,
        "other": exception,
        "target": deny.target,
        "other_target": exception.target,
        "subject": _("everyone") if deny.is_for_all else deny.subject,
        "reason": _reason(deny, exception),
    }
    won = _("In %(space)s, “%(deny)s” overrides “%(other)s”: %(reason)s.") % names
    if _narrower(exception, deny, TARGET):
        grant = _(
            "Instead of denying %(target)s, grant only %(other_target)s. "
            "Or put “%(other)s” in a space below %(space)s."
        )
        yield RuleConflict(27, won, grant % names)
    if _narrower(exception, deny, SUBJECT):
        grant = _(
            "Instead of denying it for %(subject)s, grant it only to those who may use it. "
            "Or put “%(other)s” in a space below %(space)s."
        )
        yield RuleConflict(31, won, grant % names)


def _overruled_deny(winner: RuleInWords, deny: RuleInWords) -> Iterator[RuleConflict]:
    """Warn of a precise deny that a broader allow or propose in a nearer space overrules."""
    if _narrower(deny, winner, TARGET) or _narrower(deny, winner, SUBJECT):
        names = {
            "other": winner,
            "space": winner.space,
            "deny": deny,
            "deny_space": deny.space,
            "reason": _reason(winner, deny),
        }
        won = _(
            "“%(other)s” in %(space)s overrides “%(deny)s” in %(deny_space)s: %(reason)s, "
            "even over a more specific rule further up."
        )
        also = _("To keep the deny, add “%(deny)s” in %(space)s as well.")
        yield RuleConflict(30, won % names, also % names)


def _narrower(first: RuleInWords, second: RuleInWords, criterion: Criterion) -> bool:
    return place_of(first, criterion) < place_of(second, criterion)


def _reason(winner: RuleInWords, loser: RuleInWords) -> str:
    criterion = first_difference(winner, loser)
    return _(criterion.wins) if criterion else ""
