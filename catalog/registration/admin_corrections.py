"""An admin's corrections of capabilities, which override their source."""

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from acl.platform.stored_texts import translate_stored
from catalog.effects.assessment import CORRECTABLE, Evidence, corrected_columns
from catalog.embedding.jobs import send_embeddings
from catalog.formats.files import DEFAULT_LIMITS
from catalog.formats.names import FULL_NAME
from catalog.locks import lock_catalog
from catalog.models import Capability, Definition, Integration
from catalog.registration._derived_columns import (
    DERIVED_COLUMNS,
    EFFECT_COLUMNS,
    fill_derived_columns,
    fill_in_effects,
)
from catalog.registration.admission import texts_have_passed
from catalog.registration.descriptor_rows import write_derived
from catalog.registration.tool_renames import note_former_name
from catalog.trust.findings import requires_review, worst_first
from catalog.trust.gate import marked_as_reviewed
from catalog.trust.scanner import scan_definition

# Words that an admin gives a tool: its name for models, its title and its description.
#
# The source's own words stay stored beside them: the gate compares those, a server is called by its
# own name, and effects are judged by them.

# Each with its column; "" means the source's again.
WORDS = {"name": "full_name", "title": "display_name", "description": "description"}
_LONGEST = {"name": 63, "title": 200, "description": DEFAULT_LIMITS.description}


class ToolWordsRefused(ValueError):
    """A name, title or description that a tool cannot have, with the reason."""

    def __init__(self, setting: str, reason: str) -> None:
        super().__init__(reason)
        self.setting = setting


class ToolWords:
    """The words of one tool, whose row is locked and is saved by the caller."""

    def __init__(self, tool: Capability) -> None:
        self._tool = tool

    def give(self, words: Mapping[str, str]) -> list[str]:
        """Give the tool an admin's words; return the columns that changed."""
        tool, changed = self._tool, []
        for setting, text in words.items():
            column, text = WORDS[setting], _plain(text)
            before = getattr(tool, column)
            current = tool.tool_name if setting == "name" else before
            if text == _plain(current):
                continue
            source_text = tool.source_texts.get(column, before)
            value = self._checked(setting, text) if text else source_text
            if _plain(value) == _plain(source_text):
                value = source_text
            sources = {name: words for name, words in tool.source_texts.items() if name != column}
            tool.source_texts = sources | ({} if value == source_text else {column: source_text})
            if before == value:
                continue
            if setting == "name":
                note_former_name(tool, before)
            setattr(tool, column, value)
            changed.append(column)
        return changed

    def _checked(self, setting: str, text: str) -> str:
        """Return the column's value for an admin's words, or refuse what a review would hold."""
        if len(text) > _LONGEST[setting]:
            most = {"most": f"{_LONGEST[setting]:,}"}
            raise ToolWordsRefused(setting, _("It is longer than %(most)s characters.") % most)
        if setting == "title" and "\n" in text:
            raise ToolWordsRefused(setting, _("A title is one line."))
        findings = worst_first(scan_definition({setting: text}))
        if requires_review(findings):
            raise ToolWordsRefused(setting, translate_stored(findings[0].told))
        return self._full_name(text) if setting == "name" else text

    def _full_name(self, name: str) -> str:
        """Return the full name with an admin's name in it, if no other tool has either."""
        tool, integration = self._tool, self._tool.integration
        if integration.kind not in Integration.CALLED:
            raise ToolWordsRefused("name", _("Only tools of servers and APIs can be renamed."))
        full_name = f"{integration.slug}__{name}"
        if not FULL_NAME.fullmatch(full_name):
            most = {"most": 62 - len(integration.slug)}
            reason = _("A name has at most %(most)s letters, digits, _ and -.") % most
            raise ToolWordsRefused("name", reason)
        if name == tool.action:
            return tool.source_full_name
        others = Capability.objects.exclude(pk=tool.pk)
        siblings = others.filter(integration=integration, action=name)
        listed = Definition.objects.filter(integration=integration, name=name)
        if (others.filter(full_name=full_name) | siblings).exists() or listed.exists():
            raise ToolWordsRefused("name", _("Another tool has this name."))
        return full_name


def _plain(text: str) -> str:
    """Return a text as a form sends it back."""
    return text.replace("\r\n", "\n").strip()


# Columns that an admin sets.
SETTINGS = ("ai_access", "core", "pinned", "category", *CORRECTABLE)


@transaction.atomic
def change_tool(*, by: User | None, pk: int, values: Mapping[str, Any]) -> Capability:
    """Set an admin's settings of one tool, by column; what is so already is not recorded anew.

    Raises ToolWordsRefused. The source's own words stay stored: the gate compares them, a server
    is called by its own name, and effects are judged by them.
    """
    words = {name: values[name] for name in WORDS if name in values}
    if words:
        lock_catalog()
    rows = Capability.objects.select_related("integration").select_for_update(of=("self",))
    tool = rows.get(pk=pk)
    changed = ToolWords(tool).give(words)
    corrected = corrected_columns(tool.effect_evidence)
    for column, value in values.items():
        if column in words:
            continue
        if column not in SETTINGS:
            raise ValueError(column)
        before = getattr(tool, column)
        if column == "effect_flags":
            before, value = sorted(before), sorted(value)
        # An admin's word about an effect is worth keeping even where the source says the same.
        if before != value or (column in CORRECTABLE and column not in corrected):
            setattr(tool, column, value)
            changed.append(column)
    if changed:
        correct_capability(by=by, capability=tool, changed=changed)
    return tool


@transaction.atomic
def correct_capability(*, by: User | None, capability: Capability, changed: Iterable[str]) -> None:
    """Store the changed fields. A category chosen by an admin is no longer inferred."""
    changed = set(changed)
    # The form shows the findings, so its confirmation approves them.
    seen_findings = "approve_findings" in changed
    fields = changed - {"approve_findings"}
    if "category" in fields:
        capability.category_inferred = False
        fields.add("category_inferred")
    derived: Iterable[str] = ()
    if corrected := fields.intersection((*CORRECTABLE, "category")):
        _note_corrections(capability, corrected)
        fill_in_effects(capability)
        derived = EFFECT_COLUMNS
    if fields.intersection(WORDS.values()):
        fill_derived_columns(capability)
        derived = (*DERIVED_COLUMNS, "source_texts")
    # The mark vouches for the whole row, so a row changed past the gate does not get it.
    with marked_as_reviewed() if texts_have_passed(capability) else nullcontext():
        capability.save(update_fields=[*{*fields, *derived}, "updated_at"])
    details = {name: getattr(capability, name) for name in sorted(fields)}
    if seen_findings:
        details["findings"] = "approved"
    record(by=by, action="capability.change", target=str(capability), details=details)
    new_texts = write_derived([capability])
    transaction.on_commit(partial(send_embeddings, new_texts))


def _note_corrections(capability: Capability, names: Iterable[str]) -> None:
    """Record an admin's word as the only evidence, which nothing overwrites later."""
    evidence = dict(capability.effect_evidence)
    for name in names:
        value = getattr(capability, name)
        says = value if isinstance(value, str) else ", ".join(value)
        evidence[name] = [Evidence("admin", says, 1.0).as_json()]
    capability.effect_evidence = evidence


def awaits_review(pk: int) -> bool:
    """Return True if an unapproved text keeps the capability in quarantine."""
    row = Capability.objects.filter(pk=pk).exclude(state="approved").first()
    if row is None:
        return False
    held = (*Definition.WAITING, Definition.Standing.REJECTED)
    waiting = Definition.objects.filter(
        integration=row.integration_id, name=row.action, standing__in=held
    )
    return waiting.exists() or not texts_have_passed(row)
