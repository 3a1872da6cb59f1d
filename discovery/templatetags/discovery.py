"""Calls, effects and scores in the reader's language: messages, reasons, values, bars."""

from dataclasses import dataclass
from typing import Any

from django import template
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from catalog.effects.assessment import FLAGS
from catalog.models import Capability
from discovery.calls.state import label_reason
from discovery.calls.view import translate_message
from discovery.chats.providers.registry import label_provider
from discovery.select.selection import Selected

register = template.Library()
register.filter("call_message", translate_message)
register.filter("call_reason", label_reason)
register.filter("chat_provider", label_provider)


@register.filter
def value_source(value: dict[str, Any]) -> str:
    """Return where a value of a call comes from, as the guard on flows has found it."""
    names = {"tool": value.get("tool", ""), "where": value.get("where", "")}
    sentences = {
        "user": _("the message"),
        "admin": _("the values that an admin trusts"),
        "trusted_tool": _("the trusted tool %(tool)s"),
        "named_record": _("%(tool)s, as the id of “%(where)s”, which the message names"),
        "this_turn": _("%(tool)s, which made it in this turn"),
        "model": _("neither the message nor any answer"),
        "read": _("%(tool)s (%(where)s), not the message")
        if names["where"]
        else _("%(tool)s, not the message"),
    }
    return sentences.get(str(value.get("source")), "") % names


@register.filter
def question_facts(question: dict[str, Any]) -> str:
    """Return whom a server asked during a call, and what became of it."""
    recipients = {
        "elicitation": _("The person"),
        "sampling": _("The client's model"),
        "roots": _("The client, for its folders"),
    }
    states = {
        "asked": _("asked; the answer comes with another call"),
        "accepted": _("accepted"),
        "declined": _("declined"),
        "cancelled": _("cancelled"),
        "answered": _("answered"),
        "failed": _("answered with an error"),
        "unanswered": _("did not answer"),
        "withheld": _("not asked, because Pegboard withheld the question"),
    }
    whom, state = str(question.get("kind")), str(question.get("state"))
    return f"{recipients.get(whom, whom)}: {states.get(state, state)}"


_FLAGS: dict[str, str | Promise] = {
    "reaches_outside": gettext_lazy("It reaches outside: it sends, posts, pays or publishes."),
    "returns_foreign_text": gettext_lazy("It returns text that strangers wrote."),
    "reads_private_data": gettext_lazy("It reads private data."),
}
_SOURCES: dict[str, str | Promise] = {
    "admin": gettext_lazy("an admin's decision"),
    "declared": gettext_lazy("its source"),
    "kind": gettext_lazy("its kind"),
    "annotations": gettext_lazy("its server's annotations"),
    "http_method": gettext_lazy("its HTTP method"),
    "name": gettext_lazy("its name"),
    "description": gettext_lazy("its description"),
    "schema": gettext_lazy("its arguments"),
}


@dataclass(frozen=True, slots=True)
class EffectReason:
    """A piece of evidence: its source, and the word it rests on."""

    source: str | Promise
    quote: str


@dataclass(frozen=True, slots=True)
class ShownFlag:
    """A flag as a sentence, with its reasons."""

    sentence: str | Promise
    reasons: tuple[EffectReason, ...]


@register.filter
def effect_reasons(capability: Capability) -> tuple[EffectReason, ...]:
    """Return the reasons that agree with the side effect, strongest first."""
    effect = capability.side_effect
    some = capability.effect_evidence.get("side_effect", [])
    return _reasons([reason for reason in some if effect in ("unknown", reason.get("says"))])


@register.filter
def effect_percent(capability: Capability) -> int:
    """Return the confidence in percent."""
    return round(100 * capability.effect_confidence)


@register.filter
def effect_flags(capability: Capability) -> list[ShownFlag]:
    """Return the flags of a capability, with their reasons."""
    evidence = capability.effect_evidence
    corrected = evidence.get("effect_flags", [])
    return [
        ShownFlag(_FLAGS[flag], _reasons(corrected or evidence.get(flag, [])))
        for flag in FLAGS
        if flag in capability.effect_flags
    ]


def _reasons(evidence: list[dict[str, Any]]) -> tuple[EffectReason, ...]:
    return tuple(
        EffectReason(
            _SOURCES[entry["source"]], "" if entry["source"] == "kind" else entry.get("quote", "")
        )
        for entry in evidence
        if entry.get("source") in _SOURCES
    )


# Kinds of evidence, in the order of the segments.
_EVIDENCE = {
    "meaning": gettext_noop("meaning"),
    "words": gettext_noop("keywords"),
    "name": gettext_noop("name"),
    "graph": gettext_noop("relations"),
    "use": gettext_noop("past use"),
}
BAR = 120


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment of a score bar, in the bar's own units."""

    label: str
    name: str
    start: float
    width: float
    percent: int


@register.filter
def segments(item: Selected) -> list[Segment]:
    """Return the bar's segments: together as long as the score, divided by the evidence."""
    length = BAR * item.score
    shares = {name: share for name, share in item.evidence.items() if share > 0}
    whole = sum(shares.values()) or 1.0
    order = [*(name for name in _EVIDENCE if name in shares), *(shares.keys() - _EVIDENCE.keys())]
    parts, start = [], 0.0
    for name in order:
        share = shares[name] / whole
        width = length * share
        parts.append(
            Segment(
                _(_EVIDENCE.get(name, name)),
                name,
                round(start, 2),
                round(width, 2),
                round(100 * share),
            )
        )
        start += width
    return parts or [Segment(_("score"), "score", 0, round(length, 2), 100)]
