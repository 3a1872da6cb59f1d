"""An admin's corrections of capabilities, which override their source."""

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from acl.audit.recorder import record
from catalog.effects.assessment import CORRECTABLE, Evidence, corrected_columns
from catalog.embedding.jobs import send_embeddings
from catalog.locks import lock_catalog
from catalog.models import Capability, Definition
from catalog.registration._derived_columns import (
    DERIVED_COLUMNS,
    EFFECT_COLUMNS,
    fill_derived_columns,
    fill_in_effects,
)
from catalog.registration.admission import texts_have_passed
from catalog.registration.descriptor_rows import write_derived
from catalog.registration.tool_words import WORDS, ToolWords
from catalog.trust.gate import marked_as_reviewed

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
