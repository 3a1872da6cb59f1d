"""Explanation of why a capability was not selected: the step that left it out.

It uses the trace of the selection (`Selection.workings`) and the explanation of rights; nothing is
ranked differently. People learn nothing about capabilities that they may not use; admins get the
explanation of rights.
"""

from dataclasses import dataclass, replace
from typing import Literal

from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from acl.platform.stored_texts import translate_stored
from catalog.access.explanation import Explanation, explain
from catalog.access.my_tools import load_readiness
from catalog.models import Capability
from catalog.models.integration import ReviewState
from catalog.querysets import CapabilityQuerySet
from catalog.readiness.obstacles import Obstacle
from discovery.select.selection import Selection, SelectRequest, Workings
from discovery.select.selector import select_capabilities

Cause = Literal[
    "selected", "unknown", "no right", "blocked", "quarantined", "off", "not available",
    "disconnected", "needs you", "needs an admin", "other kind", "small talk",
    "vague", "nothing fits", "twin", "under the threshold", "outranked", "too far",
]  # fmt: skip
_LABELS: dict[Cause, str] = {
    "selected": gettext_noop("selected"),
    "unknown": gettext_noop("unknown"),
    "no right": gettext_noop("no access"),
    "blocked": gettext_noop("blocked"),
    "quarantined": gettext_noop("quarantined"),
    "off": gettext_noop("disabled"),
    "not available": gettext_noop("unavailable"),
    "disconnected": gettext_noop("disconnected"),
    "needs you": gettext_noop("needs you"),
    "needs an admin": gettext_noop("needs an admin"),
    "other kind": gettext_noop("different kind"),
    "small talk": gettext_noop("small talk"),
    "vague": gettext_noop("vague message"),
    "nothing fits": gettext_noop("nothing fits"),
    "twin": gettext_noop("duplicate"),
    "under the threshold": gettext_noop("below threshold"),
    "outranked": gettext_noop("outranked"),
    "too far": gettext_noop("no candidate"),
}
_CAUSES: dict[Obstacle, Cause] = {
    Obstacle.NOT_CONNECTED: "disconnected",
    Obstacle.OWN_SECRET: "needs you",
    Obstacle.OWN_ACCOUNT: "needs you",
}
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
    """Explanation by the step that left the capability out, with its figures."""

    name: str
    cause: Cause
    sentence: str
    advice: str = ""
    score: float | None = None
    threshold: float | None = None
    place: int | None = None  # rank among all candidates
    rights: Explanation | None = None  # for admins alone

    @property
    def label(self) -> str:
        """Return the cause in the reader's language."""
        return _(_LABELS[self.cause])


def why_not(*, request: SelectRequest, selection: Selection, name: str, by_admin: bool) -> WhyNot:
    """Explain why `selection`, the answer to `request`, lacks the capability of this name."""
    # For non-admins, unknown and forbidden names take the same statements.
    row = _find(request, name.strip(), by_admin)
    if row is None:
        return _unknown(name.strip(), by_admin)
    rights = explain(caller=request.caller, full_name=row.full_name) if by_admin else None
    explanation = (
        _selected(row, selection)
        or _no_right(row, rights)
        or _not_now(row, request)
        or _left_out(row, request, selection)
    )
    return replace(explanation, rights=rights)


def _find(request: SelectRequest, name: str, by_admin: bool) -> Capability | None:
    """Find the capability by full name or identifier, or else by display name."""
    capabilities: CapabilityQuerySet = (
        Capability.objects.all()
        if by_admin
        else Capability.objects.usable_by(request.caller, unavailable=True)
    )
    matching = capabilities.filter(
        Q(full_name__iexact=name) | Q(identifier=name) | Q(display_name__iexact=name)
    )
    rows = list(
        matching.select_related("integration")
        .defer(*_LARGE_FIELDS)
        .order_by("full_name", "pk")[:20]
    )
    exact = (row for row in rows if name in {row.full_name, row.identifier})
    return next(exact, rows[0] if rows else None)


def _unknown(name: str, by_admin: bool) -> WhyNot:
    if by_admin:
        return WhyNot(name, "unknown", _("No tool in the catalogue has this name."))
    advice = _("Describe what you need, and an admin will see your request.")
    return WhyNot(name, "unknown", _("None of your tools has this name."), advice)


def _selected(row: Capability, selection: Selection) -> WhyNot | None:
    names = [item.full_name for item in selection.selected]
    if row.full_name not in names:
        return None
    place = names.index(row.full_name) + 1
    sentence = _("Selected, at rank %(rank)s of %(count)s.") % {"rank": place, "count": len(names)}
    item = selection.selected[place - 1]
    return WhyNot(row.full_name, "selected", sentence, score=item.score, place=place)


def _no_right(row: Capability, rights: Explanation | None) -> WhyNot | None:
    """Return the missing right. Admins only: others must not learn what they may not use."""
    if rights is None:
        return None
    integration = row.integration
    if not integration.enabled:
        off = _("The integration %(title)s is disabled, so nobody can use its tools.")
        return _reply(row, "off", off % {"title": integration.title})
    if {integration.state, row.state} != {ReviewState.APPROVED}:
        return _reply(
            row, "quarantined", _("Its definition awaits review. Until then nobody can use it.")
        )
    if row.ai_access in (Capability.AIAccess.APP, Capability.AIAccess.BLOCKED):
        return _reply(row, "blocked", _("The tool is blocked for AI use, for everyone."))
    if rights.decision == "no" and row.available:
        return _reply(row, "no right", rights.because)
    return None


def _not_now(row: Capability, request: SelectRequest) -> WhyNot | None:
    if request.only_available and not row.available:
        sentence = _("It is not available.")
        if row.unavailable_reason:
            sentence = f"{sentence} {translate_stored(row.unavailable_reason)}"
        return _reply(row, "not available", sentence)
    readiness = load_readiness(request.caller, [row.pk], unavailable=True).get(row.pk)
    if request.only_connected and readiness and not readiness.is_tried:
        return _reply(row, _CAUSES.get(readiness.obstacle, "needs an admin"), readiness.sentence)
    if request.kind not in {"", "any", "all", row.kind}:
        sentence = _("It is of the kind “%(kind)s”, which this query excludes.")
        return _reply(row, "other kind", sentence % {"kind": row.get_kind_display()})
    return None


def _left_out(row: Capability, request: SelectRequest, selection: Selection) -> WhyNot:
    workings = selection.workings
    if selection.small_talk or workings is None:
        return _reply(
            row, "small talk", _("The message looks like small talk, which needs no tool.")
        )
    if selection.fit == "needs_clarification":
        return _reply(
            row, "vague", _("The message does not say what it is about."), selection.question
        )
    twins = {
        twin.candidate.pk: first.candidate.full_name
        for first, twins in workings.placed
        for twin in twins
    }
    places = {item.candidate.pk: place for place, item in enumerate(workings.ranked, 1)}
    place = places.get(row.pk)
    if place is None:
        return _too_far(row, request, workings)
    score = workings.ranked[place - 1].score
    if row.pk in twins:
        sentence = _("%(tool)s has the same definition and was selected instead.")
        reply = _reply(row, "twin", sentence % {"tool": twins[row.pk]})
    elif selection.fit == "nothing_fits":
        sentence = _(
            "Every tool is much further from this message than tools usually are, so none of "
            "them counts as a match."
        )
        reply = _reply(row, "nothing fits", sentence)
    elif score < workings.threshold:
        reply = _under(row, score, workings.threshold)
    else:
        reply = _outranked(row, score, place, selection)
    return replace(reply, score=score, threshold=workings.threshold, place=place)


def _under(row: Capability, score: float, threshold: float) -> WhyNot:
    sentence = _("Its relevance of %(score).2f is below this message's threshold of %(least).2f.")
    return _reply(row, "under the threshold", sentence % {"score": score, "least": threshold})


def _outranked(row: Capability, score: float, place: int, selection: Selection) -> WhyNot:
    reserved = sum(item.score < score for item in selection.selected)
    sentence = _(
        "It matches with a relevance of %(score).2f, but ranks %(rank)s, and all %(count)s places "
        "went to other tools."
    )
    if reserved:
        sentence = ngettext(
            "It matches with a relevance of %(score).2f, but ranks %(rank)s. Of %(count)s places, "
            "%(kept)s is reserved for pinned, core or required tools, or for one part of the "
            "message.",
            "It matches with a relevance of %(score).2f, but ranks %(rank)s. Of %(count)s places, "
            "%(kept)s are reserved for pinned, core or required tools, or for one part of the "
            "message.",
            reserved,
        )
    values = {"score": score, "rank": place, "count": len(selection.selected), "kept": reserved}
    advice = _("Increase the maximum number of tools, or make the message more specific.")
    return _reply(row, "outranked", sentence % values, advice)


def _too_far(row: Capability, request: SelectRequest, workings: Workings) -> WhyNot:
    """Score a capability that was no candidate by meaning or words."""
    beside = select_capabilities(replace(request, beside=row.full_name)).workings
    ranked = beside.ranked if beside else ()
    score = next((item.score for item in ranked if item.candidate.pk == row.pk), None)
    count = len(workings.ranked)
    sentence = ngettext(
        "%(count)s other tool is closer to the message.",
        "%(count)s other tools are closer to the message.",
        count,
    )
    if score is not None:
        sentence = ngettext(
            "%(count)s other tool is closer to the message. On its own, this one has a relevance "
            "of %(score).2f.",
            "%(count)s other tools are closer to the message. On its own, this one has a relevance "
            "of %(score).2f.",
            count,
        )
    reply = _reply(row, "too far", sentence % {"count": count, "score": score})
    return replace(reply, score=score, threshold=workings.threshold)


def _reply(row: Capability, cause: Cause, sentence: str, advice: str = "") -> WhyNot:
    return WhyNot(row.full_name, cause, sentence, advice)
