"""Rules in spaces: laid down, lifted, and warned about where the answer would surprise."""

from collections.abc import Iterator

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import Q, QuerySet

from acl.audit.recorder import record
from acl.models import Space
from catalog.access.rule_conflicts import EVERYONE, Said, Warning_, further_up, in_one_space
from catalog.models import Capability, Integration, Rule

__all__ = ["RuleRefused", "Warning_", "add_rule", "remove_rule", "warnings_about"]
MOST_WARNINGS = 10


class RuleRefused(Exception):
    """The rule is about nothing, about two things, or about two subjects."""


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
    """Allow, deny or propose the integration or the capability, in the space and below it.

    For the user, for the group's members, or for everyone. The same rule twice is one rule.
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
        record(by=by, action="rule.add", target=str(rule), details=_details(rule))
    return rule


@transaction.atomic
def remove_rule(*, by: User | None, rule: Rule) -> None:
    """Lift the rule; whatever stands further away decides again."""
    target, details = str(rule), _details(rule)
    if Rule.objects.filter(pk=rule.pk).delete()[0]:
        record(by=by, action="rule.remove", target=target, details=details)


def write_rule(
    *,
    space: Space,
    effect: int,
    integration: Integration | None = None,
    capability: Capability | None = None,
    user: User | None = None,
    group: Group | None = None,
) -> tuple[Rule, bool]:
    """The row alone, for previews; and whether it is new."""
    rule = _checked(space, effect, integration, capability, user, group)
    # Two at the same time must not both find nothing.
    Space.objects.select_for_update(no_key=True).get(pk=space.pk)
    same = rules_like(rule).first()
    if same is not None:
        return same, False
    rule.save()
    return rule, True


def rules_like(rule: Rule) -> QuerySet[Rule]:
    """The stored rules that say the same."""
    return Rule.objects.filter(
        space=rule.space_id,
        effect=rule.effect,
        integration=rule.integration_id,
        capability=rule.capability_id,
        user=rule.user_id,
        group=rule.group_id,
    )


def warnings_about(
    *,
    space: Space,
    effect: int,
    integration: Integration | None = None,
    capability: Capability | None = None,
    user: User | None = None,
    group: Group | None = None,
) -> list[Warning_]:
    """What would surprise if this rule were laid down beside those that there are."""
    rule = _checked(space, effect, integration, capability, user, group)
    above = _places_above(space)
    found: dict[Warning_, None] = {}
    for other in _others(rule):
        if _about_the_same_people(rule, other):
            found |= dict.fromkeys(_between(rule, other, above))
    return list(found)[:MOST_WARNINGS]


def said_by(rule: Rule) -> Said:
    """What the rule says, by names."""
    whom = rule.user or rule.group
    return Said(
        effect=rule.effect,
        space=rule.space.name,
        target=str(rule.integration or rule.capability),
        on_capability=rule.capability is not None,
        subject=str(whom) if whom else EVERYONE,
        narrow=2 if rule.user else 1 if rule.group else 0,
    )


def _checked(
    space: Space,
    effect: int,
    integration: Integration | None,
    capability: Capability | None,
    user: User | None,
    group: Group | None,
) -> Rule:
    """The rule, unsaved."""
    if (integration is None) == (capability is None):
        raise RuleRefused("A rule is about one integration or one capability.")
    if user is not None and group is not None:
        raise RuleRefused("A rule is for one user, for one group, or for everyone.")
    if effect not in Rule.Effect.values:
        raise RuleRefused("A rule allows, denies or proposes.")
    return Rule(
        space=space,
        effect=effect,
        integration=integration,
        capability=capability,
        user=user,
        group=group,
    )


def _others(rule: Rule) -> Iterator[Rule]:
    """The rules of the same group that could speak about the same capability."""
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


def _between(rule: Rule, other: Rule, above: dict[int, set[int]]) -> Iterator[Warning_]:
    """One of the two denies and the other does not."""
    deny, yes = (rule, other) if rule.effect == Rule.Effect.DENY else (other, rule)
    if deny.space_id == yes.space_id:
        yield from in_one_space(said_by(deny), said_by(yes))
    elif deny.space_id in above.get(yes.space_id, ()):
        yield from further_up(said_by(deny), said_by(yes))


def _about_the_same_people(rule: Rule, other: Rule) -> bool:
    """Whether both can speak about one person; two groups are taken to be two sets of people."""
    subjects = [(each.user, each.group) for each in (rule, other)]
    if (None, None) in subjects or subjects[0] == subjects[1]:
        return True
    users = [user for user, _ in subjects if user is not None]
    groups = [group for _, group in subjects if group is not None]
    if len(users) != 1 or len(groups) != 1:
        return False
    return users[0].groups.filter(pk=groups[0].pk).exists()


def _places_above(space: Space) -> dict[int, set[int]]:
    """For each space of the group, those between it and the root."""
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
    said = said_by(rule)
    return {
        "space": str(rule.space),
        "effect": rule.get_effect_display(),
        "target": said.target,
        "subject": said.subject,
    }
