"""What is noticed about a definition: what, where, and how much it matters."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

# A definition may repeat itself a thousand times; nobody reads that.
MOST_KEPT = 40
LONGEST_EXCERPT = 160


class Severity(StrEnum):
    """`high` keeps a definition out until a person has looked; the others are shown."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a person should see. `where` is the place in the definition."""

    code: str
    severity: Severity
    where: str
    told: str
    excerpt: str = ""

    def as_json(self) -> dict[str, Any]:
        """As it is stored and answered."""
        return {**asdict(self), "severity": str(self.severity)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Finding":
        """What `as_json` has written."""
        return cls(**{**value, "severity": Severity(value["severity"])})


def read_findings(stored: Any) -> list[Finding]:
    """Return the findings of a row. One that cannot be read is told as such: left out, it would
    make its definition look harmless."""
    if not isinstance(stored, list):
        return [_UNREADABLE]
    return [_read(one) for one in stored]


def _read(value: Any) -> Finding:
    try:
        found = Finding.from_json(value)
    except (TypeError, ValueError, KeyError):
        return _UNREADABLE
    texts = (found.code, found.where, found.told, found.excerpt)
    return found if all(isinstance(text, str) for text in texts) else _UNREADABLE


_UNREADABLE = Finding("unreadable", Severity.HIGH, "findings", "A stored finding cannot be read.")


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Each once, those that matter most at the top."""
    order = list(Severity)
    found = sorted(dict.fromkeys(findings), key=lambda one: order.index(one.severity))
    return found[:MOST_KEPT]


def keeps_out(findings: Iterable[Finding]) -> bool:
    """Whether one of them needs a person before the tool may be used."""
    return any(finding.severity is Severity.HIGH for finding in findings)
