"""Smallest changes for what a person needs, each checked by its preview.

The ranking of tools for a wish is registered by the app that selects: it imports this one, and not
the other way round. All of it is for admins only.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User

from acl.models import AccessRequest, Space
from acl.rights.caller_lookup import Caller
from catalog.access.change_preview import Change, ChangeRefused, Preview, preview
from catalog.access.explanation import Explanation
from catalog.access.rules import RuleRefused
from catalog.models import Capability, Rule

Ranker = Callable[[Caller, str], Sequence[int]]
MOST, MOST_TRIED = 3, 6  # a preview takes some statements
_rankers: list[Ranker] = []


@dataclass(frozen=True, slots=True)
class GrantSuggestion:
    """Suggested tool for a wish, and the effects of its grant to the person."""

    capability: Capability
    preview: Preview


@dataclass(frozen=True, slots=True)
class Fix:
    """Changes for one purpose: the person may use the tool; and their effects."""

    changes: tuple[Change, ...]
    preview: Preview


def register_ranker(ranker: Ranker) -> None:
    """Register the function that ranks what a caller may not use for their words."""
    _rankers[:] = [ranker]


def suggest_grants(request: AccessRequest) -> list[GrantSuggestion]:
    """Return grants of single tools to the person that serve the request, best first.

    A grant that would change nothing, since a rule denies the tool, is left out.
    """
    caller = Caller(request.user_id, request.group_id)
    keys = [pk for ranker in _rankers for pk in ranker(caller, request.wish)][:MOST_TRIED]
    rows = Capability.objects.select_related("integration").in_bulk(keys)
    suggestions: list[GrantSuggestion] = []
    for capability in (rows[pk] for pk in keys if pk in rows):
        effects = _effect((Change("grant", target=capability, user=request.user),), capability)
        if effects is not None:
            suggestions.append(GrantSuggestion(capability, effects))
        if len(suggestions) == MOST:
            break
    return suggestions


def find_fix(
    *, person: User, caller: Caller, capability: Capability, explanation: Explanation
) -> Fix | None:
    """Return the smallest change by which the caller may use the tool, or None."""
    if explanation.decision != "no":
        return None
    for changes in _changes(person, caller, capability, explanation):
        effects = _effect(changes, capability)
        if effects is not None:
            return Fix(changes, effects)
    return None


def _changes(
    user: User, caller: Caller, capability: Capability, explanation: Explanation
) -> Iterator[tuple[Change, ...]]:
    """Return what could help, smallest first: a grant, a rule of their own, no rule against it."""
    grant = Change("grant", target=capability, user=user)
    yield (grant,)
    spaces = Space.objects.filter(group=caller.group_id)
    space = spaces.get(parent=None) if caller.space_id is None else spaces.get(pk=caller.space_id)
    yield (Change("rule", target=capability, user=user, space=space, effect=Rule.Effect.ALLOW),)
    decisive = explanation.ground
    if decisive is None or decisive.rule is None:
        return
    related = ("space", "integration", "capability", "user", "group")
    rule = Rule.objects.select_related(*related).filter(pk=decisive.rule).first()
    if rule is not None:
        without = Change(
            "unrule",
            target=rule.integration or rule.capability,
            user=rule.user,
            group=rule.group,
            space=rule.space,
            effect=Rule.Effect(rule.effect),
        )
        yield (without,)
        yield (without, grant)


def _effect(changes: Sequence[Change], capability: Capability) -> Preview | None:
    """Return the preview of changes, or None unless someone gains the tool by them."""
    try:
        effects = preview(changes)
    except (ChangeRefused, RuleRefused):
        return None
    gained = any(capability.full_name in shift.capabilities for shift in effects.gains)
    return effects if gained else None
