"""Score bars: the contribution of each kind of evidence to a score."""

from dataclasses import dataclass

from django import template
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from discovery.select.selection import Selected

register = template.Library()

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
