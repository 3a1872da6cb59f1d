"""Assessments: the effect of a tool, its confidence, three flags, and the evidence for each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Effect = Literal["read", "write", "delete", "unknown"]
Flag = Literal["reaches_outside", "returns_foreign_text", "reads_private_data"]
Source = Literal[
    "admin", "declared", "kind", "annotations", "http_method", "name", "description", "schema"
]
FLAGS: tuple[Flag, ...] = get_args(Flag)
FLAGS_HELP = (
    "`reaches_outside`: it sends, posts, pays or publishes. `returns_foreign_text`: it returns "
    "text that strangers wrote. `reads_private_data`: it reads data of the user or organisation."
)
# Columns that an admin may correct; evidence from an admin is stored under these names.
CORRECTABLE = ("side_effect", "effect_flags")

# Below this confidence the effect is `unknown`.
KNOWN = 0.6


@dataclass(frozen=True, slots=True)
class Evidence:
    """A piece of evidence: its source, its claim, its weight, and the word it rests on.

    The word comes from our vocabularies or from a key, never from free text: pages show it.
    """

    source: Source
    says: str
    weight: float = 0.0
    quote: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the evidence as stored."""
        return {
            "source": self.source,
            "says": self.says,
            "weight": round(self.weight, 2),
            "quote": self.quote,
        }


def corrected_columns(evidence: Mapping[str, Any]) -> frozenset[str]:
    """Return which of CORRECTABLE, or its category, an admin has corrected, by the evidence."""
    return frozenset(
        name
        for name, some in evidence.items()
        if any(item.get("source") == "admin" for item in some)
    )


@dataclass(frozen=True, slots=True)
class Assessment:
    """The effect of a tool, its confidence (0 to 1), and its flags with their evidence."""

    effect: Effect
    confidence: float
    evidence: tuple[Evidence, ...]
    flags: dict[Flag, tuple[Evidence, ...]] = field(default_factory=dict)

    @property
    def flag_names(self) -> list[str]:
        """Return the flags that have evidence, in a fixed order."""
        return [flag for flag in FLAGS if self.flags.get(flag)]

    def evidence_as_json(self) -> dict[str, list[dict[str, Any]]]:
        """Return the evidence by the column that it explains, strongest first."""
        grouped: dict[str, tuple[Evidence, ...]] = {"side_effect": self.evidence}
        grouped |= {str(flag): some for flag, some in self.flags.items()}
        return {
            name: [item.as_json() for item in sorted(some, key=lambda item: -abs(item.weight))]
            for name, some in grouped.items()
            if some
        }
