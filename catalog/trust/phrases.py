"""Compiled rules of `phrases.txt`."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from catalog.trust.findings import Severity

_FILE = Path(__file__).with_name("phrases.txt")
_PART = re.compile(r"([A-Z]+) = (.+)")
_REFERENCE = re.compile(r"\{([A-Z]+)\}")


@dataclass(slots=True)
class _Draft:
    code: str
    severity: Severity
    told: str
    patterns: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: code, severity, effect on the reader, and pattern."""

    code: str
    severity: Severity
    told: str
    pattern: re.Pattern[str]


def read_rules(text: str) -> tuple[Rule, ...]:
    """Parse rules, in order."""
    parts: dict[str, str] = {}
    drafts: list[_Draft] = []
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("@"):
            code, severity, told = line[1:].split(" ", 2)
            drafts.append(_Draft(code, Severity(severity), told))
        elif part := _PART.fullmatch(line):
            parts[part[1]] = part[2]
        else:
            drafts[-1].patterns.append(_REFERENCE.sub(lambda gap: parts[gap[1]], line))
    return tuple(_compile(draft) for draft in drafts)


def _compile(draft: _Draft) -> Rule:
    pattern = re.compile("|".join(f"(?:{one})" for one in draft.patterns))
    return Rule(draft.code, draft.severity, draft.told, pattern)


RULES = read_rules(_FILE.read_text(encoding="utf-8"))
