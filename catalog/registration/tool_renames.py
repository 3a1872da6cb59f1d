"""Renames of tools: a new name for a definition on which something hangs waits for a review.

Whatever hangs on the old name, be it a deny or a learned use, is shown beside the new one, and goes
along unless the person who decides says otherwise. So no server sheds a rule by another name.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from catalog.access.kept_limits import count_kept, give_kept, kept_texts
from catalog.formats.descriptors import JSONObject
from catalog.models import Capability, Definition, Integration
from catalog.registration._hanging_rows import carry_over, count_hanging, find_hanging
from catalog.trust.findings import Finding, Severity, read_findings
from catalog.trust.renames import ALIKE, TWIN, DefinitionFeatures, features_of, find_like
from catalog.trust.stored_definition import descriptor_of_row, texts_of_descriptor
from catalog.trust.tool_list import parse_definition

RENAMED, COPIED = "renamed", "copied"
_CODES = (RENAMED, COPIED)


@dataclass(frozen=True, slots=True)
class Rename:
    """An old name, and the number of rows of each kind that hang on it.

    `only_limits` is True where the old name stays in use: then limits alone go along.
    """

    old: str
    hangs: Mapping[str, int]
    only_limits: bool = False


def find_renames(
    integration: Integration, new: Mapping[str, JSONObject], *, listed: Iterable[str]
) -> dict[str, Finding]:
    """Return a finding for each new text that a tool with something hanging on it has already.

    `new` are texts by name; `listed` are all names that the source still has.
    """
    if not new:
        return {}
    listed = set(listed)
    waiting_texts = kept_texts(integration)
    hanging, limited = (find_hanging(integration, only_limits=only) for only in (False, True))
    stored = Capability.objects.filter(pk__in=hanging)
    # What was changed last has gone last.
    stored = stored.select_related("integration").order_by("updated_at", "pk")
    rows = {row.action: row for row in stored}
    all_features = {
        **{name: features_of(text) for name, text in waiting_texts.items()},
        **_known_texts(rows),
    }
    findings: dict[str, Finding] = {}
    for name, text in new.items():
        others = {
            tool_name: features for tool_name, features in all_features.items() if tool_name != name
        }
        gone = {
            tool_name: features for tool_name, features in others.items() if tool_name not in listed
        }
        # What waits for a name that is listed again will hold for it in a moment.
        limited_texts = {
            tool_name: features
            for tool_name, features in others.items()
            if tool_name in waiting_texts or (tool_name in rows and rows[tool_name].pk in limited)
        }
        for code, texts, bound in ((RENAMED, gone, ALIKE), (COPIED, limited_texts, TWIN)):
            if old := find_like(text, texts, at_least=bound):
                findings[name] = _finding(code, old)
                break
    return findings


def rename_of(row: Definition) -> Rename | None:
    """Return the rename that a waiting definition would be, with what hangs on the old name."""
    for finding in read_findings(row.findings):
        if finding.code in _CODES:
            only_limits = finding.code == COPIED
            old = _capability(row.integration_id, finding.excerpt)
            if old is not None:
                hangs = count_hanging(old, only_limits=only_limits)
            else:
                hangs = count_kept(row.integration, finding.excerpt)
            return Rename(finding.excerpt, hangs, only_limits)
    return None


def carry_rename(row: Definition, rename: Rename) -> None:
    """Give an approved definition's capability what hangs on its old name."""
    old, new = (_capability(row.integration_id, name) for name in (rename.old, row.name))
    if old is not None and new is not None:
        carry_over(old, new, only_limits=rename.only_limits)
    elif new is not None:
        give_kept(row.integration, rename.old, to=new)


def without_renames(findings: Iterable[Finding]) -> list[Finding]:
    """Return the other findings: which names are alike changes with every list."""
    return [finding for finding in findings if finding.code not in _CODES]


def _known_texts(stored: Mapping[str, Capability]) -> dict[str, DefinitionFeatures]:
    """Return what is compared of each stored tool: its source's words, else the stored ones."""
    integrations = {row.integration_id for row in stored.values()}
    rows = Definition.objects.filter(integration__in=integrations, name__in=list(stored))
    approved_texts = {row.name: row.approved for row in rows.exclude(approved_hash="")}
    return {
        name: features_of(
            parse_definition(approved_texts[name])
            if name in approved_texts
            else texts_of_descriptor(descriptor_of_row(row))
        )
        for name, row in stored.items()
    }


def _finding(code: str, old: str) -> Finding:
    if code == RENAMED:
        message = "It is a tool under a new name: what hangs on the old name goes along."
    else:
        message = "It is a tool under a second name: the limits of the first one hold for it, too."
    return Finding(code, Severity.HIGH, "name", message, old)


def _capability(integration: int, action: str) -> Capability | None:
    return Capability.objects.filter(integration=integration, action=action).first()
