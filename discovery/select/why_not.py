"""Explanation of why a capability was not selected: the step that left it out.

It uses the trace of the selection (`Selection.workings`) and the explanation of rights; nothing is
ranked differently. People learn nothing about capabilities that they may not use; admins get the
explanation of rights.
"""

from dataclasses import dataclass, replace
from typing import Literal

from django.db.models import Q

from catalog.access.explanation import Explanation, explain
from catalog.models import Capability
from catalog.models.integration import ReviewState
from catalog.querysets import CapabilityQuerySet
from discovery.select.selection import Asked, Selection
from discovery.select.selector import select_capabilities
from discovery.select.trace import Workings

Cause = Literal[
    "selected", "unknown", "no right", "blocked", "quarantined", "off", "not available",
    "disconnected", "other kind", "small talk", "twin", "under the threshold", "outranked",
    "too far",
]  # fmt: skip
_LARGE_FIELDS = (
    "input_schema",
    "output_schema",
    "content",
    "examples",
    "annotations",
    "source_ref",
)


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Explanation: the step that left the capability out, in words and figures."""

    name: str
    cause: Cause
    sentence: str
    advice: str = ""
    score: float | None = None
    threshold: float | None = None
    place: int | None = None  # rank among all candidates
    rights: Explanation | None = None  # for admins alone


def why_not(*, asked: Asked, selection: Selection, name: str, by_admin: bool) -> WhyNot:
    """Explain why `selection`, the answer to `asked`, lacks the capability of this name."""
    # For non-admins, unknown and forbidden names take the same statements.
    row = _find(asked, name.strip(), by_admin)
    if row is None:
        return _unknown(name.strip(), by_admin)
    rights = explain(caller=asked.caller, full_name=row.full_name) if by_admin else None
    found = (
        _selected(row, selection)
        or _no_right(row, rights)
        or _not_now(row, asked)
        or _left_out(row, asked, selection)
    )
    return replace(found, rights=rights)


def _find(asked: Asked, name: str, by_admin: bool) -> Capability | None:
    """Find the capability by full name or identifier, or else by display name."""
    known: CapabilityQuerySet = (
        Capability.objects.all()
        if by_admin
        else Capability.objects.usable_by(asked.caller, unavailable=True)
    )
    named = known.filter(
        Q(full_name__iexact=name) | Q(identifier=name) | Q(display_name__iexact=name)
    )
    rows = list(
        named.select_related("integration").defer(*_LARGE_FIELDS).order_by("full_name", "pk")[:20]
    )
    exact = (row for row in rows if name in {row.full_name, row.identifier})
    return next(exact, rows[0] if rows else None)


def _unknown(name: str, by_admin: bool) -> WhyNot:
    if by_admin:
        return WhyNot(name, "unknown", "Nothing in the catalogue has this name.")
    wish = "If you miss something, say what you need, and an admin will see it."
    return WhyNot(name, "unknown", "Nothing that you may use has this name.", wish)


def _selected(row: Capability, selection: Selection) -> WhyNot | None:
    names = [item.full_name for item in selection.selected]
    if row.full_name not in names:
        return None
    place = names.index(row.full_name) + 1
    sentence = f"It is there, in place {place} of {len(names)}."
    item = selection.selected[place - 1]
    return WhyNot(row.full_name, "selected", sentence, score=item.score, place=place)


def _no_right(row: Capability, rights: Explanation | None) -> WhyNot | None:
    """Return the missing right. Admins only: others must not learn what they may not use."""
    if rights is None:
        return None
    integration = row.integration
    if not integration.enabled:
        return _reply(row, "off", f"{integration.title} is disabled: nobody gets its tools.")
    if {integration.state, row.state} != {ReviewState.APPROVED}:
        waits = "Its definition waits for a person to look at it, so nobody gets it."
        return _reply(row, "quarantined", waits)
    if row.ai_access == Capability.AIAccess.BLOCKED:
        return _reply(row, "blocked", "It is blocked for AI, for everybody.")
    if rights.decision == "no" and row.available:
        return _reply(row, "no right", rights.because)
    return None


def _not_now(row: Capability, asked: Asked) -> WhyNot | None:
    if asked.only_available and not row.available:
        because = f": {row.unavailable_reason}" if row.unavailable_reason else "."
        return _reply(row, "not available", f"It is not available at the moment{because}")
    if asked.only_connected and row.integration.connection == "disconnected":
        return _reply(row, "disconnected", f"{row.integration.title} is not connected.")
    if asked.kind not in {"", "any", "all", row.kind}:
        kind = row.get_kind_display()
        return _reply(row, "other kind", f"It is of the kind {kind}, which was not asked for.")
    return None


def _left_out(row: Capability, asked: Asked, selection: Selection) -> WhyNot:
    workings = selection.workings
    if selection.small_talk or workings is None:
        return _reply(row, "small talk", "The message reads as small talk, which needs no tool.")
    twins = {
        twin.candidate.pk: first.candidate.full_name
        for first, twins in workings.placed
        for twin in twins
    }
    places = {item.candidate.pk: place for place, item in enumerate(workings.ranked, 1)}
    place = places.get(row.pk)
    if place is None:
        return _too_far(row, asked, workings)
    score = workings.ranked[place - 1].score
    if row.pk in twins:
        told = _reply(row, "twin", f"{twins[row.pk]} has the same definition and stands for both.")
    elif score < workings.threshold:
        told = _under(row, score, workings.threshold)
    else:
        told = _outranked(row, score, place, selection)
    return replace(told, score=score, threshold=workings.threshold, place=place)


def _under(row: Capability, score: float, threshold: float) -> WhyNot:
    sentence = (
        f"Its relevance of {score:.2f} is under the threshold of {threshold:.2f}, "
        "below which nothing counts as fitting this message."
    )
    return _reply(row, "under the threshold", sentence)


def _outranked(row: Capability, score: float, place: int, selection: Selection) -> WhyNot:
    given = len(selection.selected)
    kept = sum(item.score < score for item in selection.selected)
    others = (
        f"of the {given} places {kept} {'is' if kept == 1 else 'are'} kept for what is pinned, "
        "core, needed by others, or best for a part of the message."
        if kept
        else f"the {given} places went to others."
    )
    sentence = f"It fits, with a relevance of {score:.2f}, but it comes in place {place}, and "
    advice = "Ask for more tools, or say more exactly what to do."
    return _reply(row, "outranked", sentence + others, advice)


def _too_far(row: Capability, asked: Asked, workings: Workings) -> WhyNot:
    """Score a capability that was no candidate by meaning or words."""
    beside = select_capabilities(replace(asked, beside=row.full_name)).workings
    ranked = beside.ranked if beside else ()
    score = next((item.score for item in ranked if item.candidate.pk == row.pk), None)
    others = f"{len(workings.ranked)} others are nearer to the message, in meaning and in words"
    worth = f"; by itself it has a relevance of {score:.2f}." if score is not None else "."
    told = _reply(row, "too far", others + worth)
    return replace(told, score=score, threshold=workings.threshold)


def _reply(row: Capability, cause: Cause, sentence: str, advice: str = "") -> WhyNot:
    return WhyNot(row.full_name, cause, sentence, advice)
