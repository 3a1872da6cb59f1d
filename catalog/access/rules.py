"""Rules in spaces: creation, deletion and warnings about conflicts."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from acl.audit.recorder import record
from acl.models import Space
from acl.platform.answer_model import Answer, Shown
from acl.rights.precedence import (
    EFFECTS,
    NO,
    SUBJECT,
    TARGET,
    Criterion,
    SubjectKind,
    TargetKind,
    beats,
    first_difference,
    place_of,
)
from catalog.models import Capability, Integration, Rule

__all__ = ["RuleConflict", "RuleRefused", "add_rule", "find_warnings", "remove_rule"]

# Rules that are about no person's own server.
ABOUT_SHARED = Q(integration__owner=None, capability__integration__owner=None)


# Conflicts between two rules with an answer that their authors may not expect, in words.
#
# The cases are those of `docs/access-cases.md`. Which rule wins comes from `acl.rights.precedence`.

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


MOST_WARNINGS = 10


class RuleRefused(Exception):
    """The rule does not have exactly one target and at most one subject."""


@transaction.atomic
def add_rule(
    *,
    by: User | None,
    space: Space,
    effect: int,
    integration: Integration | None = None,
    capability: Capability | None = None,
    user: User | None = None,
    group: Group | None = None,
) -> Rule:
    """Create a rule for a space and the spaces below it.

    It applies to the user, to the group's members, or to everyone. Creating the same rule again
    returns the existing one.
    """
    rule, is_new = write_rule(
        space=space,
        effect=effect,
        integration=integration,
        capability=capability,
        user=user,
        group=group,
    )
    if is_new:
        groups = [space.group_id]
        record(by=by, action="rule.add", target=str(rule), details=_details(rule), groups=groups)
    return rule


@transaction.atomic
def remove_rule(*, by: User | None, rule: Rule) -> None:
    """Delete a rule; rules further up, grants and defaults decide again."""
    target, details = str(rule), _details(rule)
    if Rule.objects.filter(pk=rule.pk).delete()[0]:
        groups = [rule.space.group_id]
        record(by=by, action="rule.remove", target=target, details=details, groups=groups)


def write_rule(
    *,
    space: Space,
    effect: int,
    integration: Integration | None = None,
    capability: Capability | None = None,
    user: User | None = None,
    group: Group | None = None,
) -> tuple[Rule, bool]:
    """Insert a rule without an audit entry, for previews; return it, and True if it is new."""
    rule = _build_rule(space, effect, integration, capability, user, group)
    # Locked, so that two concurrent requests do not both insert the rule.
    Space.objects.select_for_update(no_key=True).get(pk=space.pk)
    same = rules_like(rule).first()
    if same is not None:
        return same, False
    rule.save()
    return rule, True


def rules_like(rule: Rule) -> QuerySet[Rule]:
    """Return the equal stored rules."""
    return Rule.objects.filter(
        space=rule.space_id,
        effect=rule.effect,
        integration=rule.integration_id,
        capability=rule.capability_id,
        user=rule.user_id,
        group=rule.group_id,
    )


def find_warnings(
    *,
    space: Space,
    effect: int,
    integration: Integration | None = None,
    capability: Capability | None = None,
    user: User | None = None,
    group: Group | None = None,
) -> list[RuleConflict]:
    """Return warnings about conflicts of this rule with existing ones."""
    rule = _build_rule(space, effect, integration, capability, user, group)
    above = _ancestors(space)
    warnings: dict[RuleConflict, None] = {}
    for existing in _conflicting_rules(rule):
        if _share_subjects(rule, existing):
            warnings |= dict.fromkeys(_compare_rules(rule, existing, above))
    return list(warnings)[:MOST_WARNINGS]


def describe_rule(rule: Rule, *, distance: int = 0) -> RuleInWords:
    """Return the rule in words; `distance` is how far its space is above the other rule's."""
    whom = rule.user or rule.group
    return RuleInWords(
        effect=rule.effect,
        space=rule.space.name,
        target=str(rule.integration or rule.capability),
        target_kind="integration" if rule.capability is None else "capability",
        subject=str(whom) if whom else EVERYONE,
        subject_kind="user" if rule.user else "group" if rule.group else "everyone",
        distance=distance,
    )


def _build_rule(
    space: Space,
    effect: int,
    integration: Integration | None,
    capability: Capability | None,
    user: User | None,
    group: Group | None,
) -> Rule:
    """Build the unsaved rule, or raise RuleRefused."""
    if (integration is None) == (capability is None):
        raise RuleRefused(_("Choose either an integration or a tool for the rule."))
    if user is not None and group is not None:
        raise RuleRefused(_("A rule applies to one user, one group, or everyone."))
    if effect not in Rule.Effect.values:
        raise RuleRefused(_("A rule allows, denies or asks first."))
    return Rule(
        space=space,
        effect=effect,
        integration=integration,
        capability=capability,
        user=user,
        group=group,
    )


def _conflicting_rules(rule: Rule) -> Iterator[Rule]:
    """Yield the group's rules with another effect that may concern the same capability."""
    if rule.capability is not None:
        about = Q(capability=rule.capability) | Q(integration=rule.capability.integration_id)
    else:
        about = Q(integration=rule.integration) | Q(capability__integration=rule.integration)
    rules = Rule.objects.filter(about, space__group=rule.space.group_id)
    if rule.effect == Rule.Effect.DENY:
        rules = rules.exclude(effect=Rule.Effect.DENY)
    else:
        rules = rules.filter(effect=Rule.Effect.DENY)
    related = ("space", "integration", "capability", "user", "group")
    return rules.select_related(*related).order_by("pk").iterator()


def _compare_rules(
    rule: Rule, existing: Rule, above: dict[int, set[int]]
) -> Iterator[RuleConflict]:
    """Yield warnings about a rule that denies and one that does not."""
    for lower, upper in ((rule, existing), (existing, rule)):
        if upper.space_id in above.get(lower.space_id, ()):
            yield from find_conflicts(describe_rule(lower), describe_rule(upper, distance=1))
    if rule.space_id == existing.space_id:
        yield from find_conflicts(describe_rule(rule), describe_rule(existing))


def _share_subjects(rule: Rule, existing: Rule) -> bool:
    """Return True if both may concern one person.

    Two different groups count as different people.
    """
    subjects = [(compared.user, compared.group) for compared in (rule, existing)]
    if (None, None) in subjects or subjects[0] == subjects[1]:
        return True
    users = [user for user, _ in subjects if user is not None]
    groups = [group for _, group in subjects if group is not None]
    if len(users) != 1 or len(groups) != 1:
        return False
    return users[0].groups.filter(pk=groups[0].pk).exists()


def _ancestors(space: Space) -> dict[int, set[int]]:
    """Return the ancestors of each space in the group."""
    parents = dict(Space.objects.filter(group=space.group_id).values_list("pk", "parent_id"))
    above: dict[int, set[int]] = {}
    for pk in parents:
        above[pk] = set()
        place: int | None = parents[pk]
        while place is not None and place not in above[pk]:
            above[pk].add(place)
            place = parents.get(place)
    return above


def _details(rule: Rule) -> dict[str, object]:
    wording = describe_rule(rule)
    return {
        "space": str(rule.space),
        "effect": rule.get_effect_display(),
        "target": wording.target,
        "subject": wording.subject,
    }
