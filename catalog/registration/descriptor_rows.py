"""Storage of descriptors as rows: only new and changed ones, in a few bulk statements."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Model, Q
from django.db.models.expressions import RawSQL

from catalog.effects.assessment import CORRECTABLE, corrected_columns
from catalog.effects.classifier import declared_effect
from catalog.embedding.jobs import request_vectors
from catalog.formats.descriptors import Defect, Descriptor, IntegrationDescriptor, column_values
from catalog.formats.icon_choice import icon_address
from catalog.icons import assign_icons
from catalog.models import Capability, Integration, LexicalVector
from catalog.registration._derived_columns import (
    compute_lexical_terms,
    compute_text_hash,
    fill_derived_columns,
)
from catalog.registration.integration_identity import connection_facts, describe_clash, find_clash
from catalog.relations.argument_lookups import refresh_lookups
from catalog.relations.relations import refresh_relations
from catalog.trust.gate import ReviewedDefinition, ReviewedIntegration, marked_as_reviewed

# Set by the source once; afterwards admins own them.
_ADMIN_COLUMNS = {"state", "core", "pinned", "example_requests"}
# Kept where the evidence says that an admin corrected them.
_EFFECT_COLUMNS = ("effect_evidence", *CORRECTABLE)
_STRICTNESS = [access.value for access in Capability.AIAccess]


@dataclass(slots=True)
class StoreReport:
    """Keys of the written rows, and the defects."""

    created: list[int] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)
    unchanged: int = 0
    new_texts: list[int] = field(default_factory=list)
    # Slugs declared by another source, each with its defect.
    foreign: dict[str, Defect] = field(default_factory=dict)
    defects: list[Defect] = field(default_factory=list)


def store_integrations(
    reviewed: Iterable[ReviewedIntegration], *, state: str, came_from: str
) -> tuple[dict[str, Integration], StoreReport]:
    """Write changed integrations; return those by slug whose slug is not another source's.

    `came_from` names the source. An integration belongs to the source that declared it first.
    """
    by_slug = {review.descriptor.slug: review.descriptor for review in reviewed}
    rows = {row.slug: row for row in Integration.objects.filter(slug__in=by_slug)}
    stored = StoreReport()
    new, changed = [], []
    for slug, descriptor in by_slug.items():
        row, values = rows.get(slug), _integration_values(descriptor)
        if row is None:
            values |= {"came_from": came_from, "unconfirmed": bool(descriptor.transport)}
            rows[slug] = Integration(slug=slug, state=state, **values)
            new.append(rows[slug])
        elif reason := find_clash(row, descriptor, came_from=came_from):
            stored.defects.append(_name_taken(descriptor, reason))
            del rows[slug]
        elif row.came_from not in ("", came_from):
            reason = describe_clash(row, descriptor, came_from=came_from)
            stored.foreign[slug] = _name_taken(descriptor, reason)
            if _differs(row, values, besides={"source_ref"}):
                stored.defects.append(stored.foreign.pop(slug))
                del rows[slug]
        elif _differs(row, values, besides={"source_ref"}):
            # A changed target or new secrets need an admin's confirmation again.
            row.unconfirmed |= connection_facts(row) != connection_facts(descriptor)
            for name, value in (values | {"came_from": came_from}).items():
                setattr(row, name, value)
            changed.append(row)
    declared = ((row, icon_address(row.source_ref.get("icon"))) for row in (*new, *changed))
    assign_icons((row, address) for row, address in declared if address)
    Integration.objects.bulk_create(new)
    overwrite(Integration, changed, _INTEGRATION_COLUMNS)
    stored.created, stored.changed = [row.pk for row in new], [row.pk for row in changed]
    return rows, stored


def store_capabilities(
    reviewed: Sequence[ReviewedDefinition], integrations: Mapping[str, Integration], *, state: str
) -> StoreReport:
    """Write changed capabilities with their words and embeddings, in the caller's transaction."""
    descriptors = [definition.descriptor for definition in reviewed]
    existing = StoredCapabilities(descriptors)
    stored = StoreReport()
    new: list[Capability] = []
    changed: list[Capability] = []
    for descriptor in descriptors:
        integration = integrations[descriptor.integration]
        row = existing.row(descriptor, integration)
        if problem := existing.problem(descriptor, integration):
            stored.defects.append(problem)
        elif row and is_unchanged(row, descriptor):
            stored.unchanged += 1
        else:
            capability = _capability(descriptor, integration, row=row, state=state)
            if problem := _invalid_value(capability, descriptor):
                stored.defects.append(problem)
            else:
                (changed if row else new).append(capability)
    with marked_as_reviewed():
        Capability.objects.bulk_create(new)
        overwrite(Capability, changed, _CAPABILITY_COLUMNS)
    stored.created, stored.changed = [row.pk for row in new], [row.pk for row in changed]
    stored.new_texts = write_derived([*new, *changed])
    return stored


def write_derived(capabilities: Sequence[Capability]) -> list[int]:
    """Write words, relations and pending embeddings; return the keys of changed texts."""
    LexicalVector.objects.bulk_create(
        [LexicalVector(capability=row, terms=compute_lexical_terms(row)) for row in capabilities],
        update_conflicts=True,
        unique_fields=["capability"],
        update_fields=["terms"],
    )
    keys = [row.pk for row in capabilities]
    refresh_relations(keys)
    refresh_lookups(keys)
    return request_vectors({row.pk: compute_text_hash(row) for row in capabilities})


def set_corrected_category(pk: int, category: str) -> None:
    """Give a capability a category that an admin chose for it under another name."""
    # The gate's mark vouches for a whole row, so a row changed past it keeps its category.
    as_reviewed = RawSQL("catalog_texts_digest(catalog_capability)", ())
    with marked_as_reviewed():
        Capability.objects.filter(pk=pk, reviewed=as_reviewed).update(
            category=category, category_inferred=False
        )


class StoredCapabilities:
    """Stored capabilities that share an id or full name with the descriptors."""

    def __init__(self, descriptors: Iterable[Descriptor]) -> None:
        identifiers = [descriptor.identifier for descriptor in descriptors]
        names = [descriptor.full_name for descriptor in descriptors]
        same = Q(identifier__in=identifiers) | Q(full_name__in=names)
        rows = Capability.objects.filter(same).defer("input_schema", "output_schema", "content")
        self._by_identifier = {row.identifier: row for row in rows}
        self._by_name = {row.full_name: row for row in rows}

    def row(self, descriptor: Descriptor, integration: Integration) -> Capability | None:
        """Return the descriptor's row, if stored."""
        row = self._by_identifier.get(descriptor.identifier)
        return row if row and row.integration_id == integration.pk else None

    def problem(self, descriptor: Descriptor, integration: Integration) -> Defect | None:
        """Return a defect if another capability has the id or name."""
        namesake = self._by_identifier.get(descriptor.identifier)
        if namesake and namesake.integration_id != integration.pk:
            reason = f"the id {descriptor.identifier} is taken by another integration"
            return _name_taken(descriptor, reason)
        namesake = self._by_name.get(descriptor.full_name)
        if namesake and namesake.identifier != descriptor.identifier:
            reason = f"the full name {descriptor.full_name} is taken by {namesake.identifier}"
            return _name_taken(descriptor, reason)
        return None


def is_unchanged(row: Capability, descriptor: Descriptor) -> bool:
    """Return True if the row has this definition already."""
    return (
        row.definition_hash == descriptor.definition_hash
        and row.available == descriptor.available
        and row.unavailable_reason == descriptor.unavailable_reason
    )


def _capability(
    descriptor: Descriptor, integration: Integration, *, row: Capability | None, state: str
) -> Capability:
    """Build the row to store, keeping an admin's decisions."""
    values = _capability_values(descriptor)
    if row:
        values |= {name: getattr(row, name) for name in _ADMIN_COLUMNS}
        # The stricter of the source's and the admin's setting wins.
        # What was its server's to say, the server may take back.
        decided = () if row.ai_access in Capability.OF_SOURCES else (row.ai_access,)
        values["ai_access"] = max([descriptor.ai_access, *decided], key=_STRICTNESS.index)
        if descriptor.category_inferred and not row.category_inferred:
            values |= {"category": row.category, "category_inferred": False}
        values["source_texts"] = {name: values[name] for name in row.source_texts}
        values |= {name: getattr(row, name) for name in row.source_texts}
        if corrected_columns(row.effect_evidence):
            values |= {name: getattr(row, name) for name in _EFFECT_COLUMNS}
    capability = Capability(
        pk=row.pk if row else None, integration=integration, **({"state": state} | values)
    )
    fill_derived_columns(capability)
    return capability


def _invalid_value(capability: Capability, descriptor: Descriptor) -> Defect | None:
    """Return a defect for the first value that violates a column's limits."""
    try:
        capability.clean_fields(exclude={"integration", "created_at", "updated_at"})
    except ValidationError as problem:
        name, reasons = next(iter(problem.message_dict.items()))
        return Defect(file_of(descriptor), name, reasons[0])
    return None


def _integration_values(descriptor: IntegrationDescriptor) -> dict[str, Any]:
    values = column_values(descriptor)
    del values["slug"]
    return values


def _capability_values(descriptor: Descriptor) -> dict[str, Any]:
    values = column_values(descriptor)
    del values["integration"]
    edges = values.pop("edges")
    del values["side_effect_inferred"]
    values["declared_effect"] = declared_effect(descriptor)
    return values | {"declared_edges": edges, "definition_hash": descriptor.definition_hash}


def _differs(row: Model, values: Mapping[str, Any], *, besides: set[str]) -> bool:
    return any(getattr(row, name) != value for name, value in values.items() if name not in besides)


def overwrite(model: type[Model], rows: Sequence[Model], columns: Sequence[str]) -> None:
    """Update all rows in one statement; bulk_update would build a CASE for every value."""
    if rows:
        model._default_manager.bulk_create(
            rows, update_conflicts=True, unique_fields=["id"], update_fields=columns
        )


def _name_taken(descriptor: Descriptor | IntegrationDescriptor, reason: str) -> Defect:
    return Defect(file_of(descriptor), "name", reason)


def file_of(descriptor: Descriptor | IntegrationDescriptor) -> str:
    """Return the file named in defects."""
    return str(descriptor.source_ref.get("file") or descriptor.source_ref.get("path") or "")


_CAPABILITY_COLUMNS = [
    column.name
    for column in Capability._meta.concrete_fields
    if column.name not in {"id", "integration", "created_at", "reviewed"}
]
_INTEGRATION_COLUMNS = [
    *(name for name in IntegrationDescriptor.__slots__ if name != "slug"),
    *("icon", "unconfirmed", "came_from", "updated_at"),
]
