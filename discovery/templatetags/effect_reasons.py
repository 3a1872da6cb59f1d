"""Reasons for a tool's effect and flags, as sentences of the tool's page."""

from dataclasses import dataclass
from typing import Any

from django import template
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from catalog.effects.assessment import FLAGS
from catalog.models import Capability

register = template.Library()

_FLAGS: dict[str, str | Promise] = {
    "reaches_outside": _("It reaches outside: it sends, posts, pays or publishes."),
    "returns_foreign_text": _("It returns text that strangers wrote."),
    "reads_private_data": _("It reads private data."),
}
_SOURCES: dict[str, str | Promise] = {
    "admin": _("an admin's decision"),
    "declared": _("its source"),
    "kind": _("its kind"),
    "annotations": _("its server's annotations"),
    "http_method": _("its HTTP method"),
    "name": _("its name"),
    "description": _("its description"),
    "schema": _("its arguments"),
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
