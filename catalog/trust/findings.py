"""Findings about a definition: what, where, and how severe."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Annotated, Any, NewType

from acl.platform.answer_model import Answer, Shown
from catalog.formats.descriptors import JSONObject

# A hostile definition could produce thousands of findings.
MAX_FINDINGS = 40
LONGEST_EXCERPT = 160


class Severity(StrEnum):
    """The severity: `high` holds a definition until a review, the others are only shown."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class Finding(Answer):
    """A finding of the scanner: its kind, its severity and its place."""

    code: str
    severity: Annotated[Severity, Shown("`high`, `medium` or `low`.", type=str)]
    where: Annotated[str, Shown("The place in the definition.")]
    told: str
    excerpt: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the finding as stored and as shown by the API."""
        return {**asdict(self), "severity": str(self.severity)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Finding":
        """Restore a finding from `as_json`."""
        return cls(**{**value, "severity": Severity(value["severity"])})


def read_findings(stored: Any) -> list[Finding]:
    """Restore a row's findings.

    An unreadable one becomes a finding of its own: dropping it would make the definition look
    harmless.
    """
    if not isinstance(stored, list):
        return [_UNREADABLE]
    return [_read(item) for item in stored]


def _read(value: Any) -> Finding:
    try:
        finding = Finding.from_json(value)
    except (TypeError, ValueError, KeyError):
        return _UNREADABLE
    texts = (finding.code, finding.where, finding.told, finding.excerpt)
    return finding if all(isinstance(text, str) for text in texts) else _UNREADABLE


_UNREADABLE = Finding("unreadable", Severity.HIGH, "findings", "A stored finding cannot be read.")


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return distinct findings, the most severe first."""
    order = list(Severity)
    ordered = sorted(dict.fromkeys(findings), key=lambda finding: order.index(finding.severity))
    return ordered[:MAX_FINDINGS]


def requires_review(findings: Iterable[Finding]) -> bool:
    """Return True if a finding requires a review."""
    return any(finding.severity is Severity.HIGH for finding in findings)


# Types for texts that passed the gate, required by everything that shows them to a model.
#
# Definitions' texts are plain `str` until the gate admits their row. Rows returned by `usable` are
# reviewed: they are approved, and the database quarantines a row edited past the gate. Only readers
# of such rows, and constants, create these types; passing anything else to rendering is a type
# error.

ReviewedText = NewType("ReviewedText", str)
ReviewedSchema = NewType("ReviewedSchema", dict[str, Any])


def trust_own_text(text: str) -> ReviewedText:
    """Mark a constant text."""
    return ReviewedText(text)


def trust_own_schema(schema: JSONObject) -> ReviewedSchema:
    """Mark a constant schema."""
    return ReviewedSchema(schema)
