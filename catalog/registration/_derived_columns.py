"""Columns derived from a capability's definition."""

import hashlib
import json
from collections.abc import Iterable
from copy import copy

from django.db import connection
from pgvector import SparseVector

from catalog.effects.assessment import CORRECTABLE, corrected_columns
from catalog.effects.classifier import assess
from catalog.embedding.multilingual_embedder import reader_of
from catalog.embedding.texts import text_without_order
from catalog.formats.descriptors import Descriptor, JSONObject, canonical_json
from catalog.lexical import DIMENSIONS, document_vector
from catalog.locks import lock_catalog
from catalog.models import Capability
from catalog.token_counter import estimate_tokens

EFFECT_COLUMNS = ("effect_confidence", "effect_evidence", *CORRECTABLE)
DERIVED_COLUMNS = ("tokens", "fingerprint", "parameters_summary", *EFFECT_COLUMNS)

_SUMMARY_CHARACTERS = 200


def fill_derived_columns(capability: Capability) -> None:
    """Set the derived columns."""
    capability.tokens = estimate_definition_tokens(capability)
    capability.fingerprint = compute_fingerprint(capability)
    capability.parameters_summary = summarize_parameters(capability.input_schema)
    fill_in_effects(capability)


def fill_in_effects(capability: Capability) -> None:
    """Set the side effect and the flags with their evidence, except what an admin corrected."""
    before = capability.effect_evidence or {}
    corrected = corrected_columns(before)
    declared = capability.declared_effect
    if "side_effect" in corrected:
        declared = capability.side_effect
    # Judged by the source's own words: an admin's description changes no effect.
    by_source = copy(capability)
    by_source.description = capability.source_texts.get("description", capability.description)
    assessment = assess(by_source, declared=declared)
    capability.side_effect, capability.effect_confidence = assessment.effect, assessment.confidence
    if "effect_flags" not in corrected:
        capability.effect_flags = assessment.flag_names
    corrections = {name: before[name] for name in corrected}
    capability.effect_evidence = assessment.evidence_as_json() | corrections


def estimate_definition_tokens(capability: Capability) -> int:
    """Estimate the tokens of the full definition."""
    definition = {
        "name": capability.full_name,
        "description": capability.description,
        "input_schema": capability.input_schema,
    }
    return estimate_tokens(definition)


def compute_fingerprint(capability: Capability) -> str:
    """Return a hash equal for the same definition on another integration."""
    definition = [
        capability.action,
        capability.description,
        capability.input_schema,
        capability.output_schema,
        capability.content,
    ]
    return _digest(canonical_json(definition))


def compute_text_hash(capability: Capability) -> str:
    """Return the hash of the text and of what reads it, whatever the order of parameters."""
    text = text_without_order(capability)
    return _digest(text + reader_of(text))


def compute_lexical_terms(capability: Capability) -> SparseVector:
    """Return the capability's BM25 vector as stored."""
    return SparseVector(document_vector(capability), DIMENSIONS)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def summarize_parameters(schema: JSONObject | None) -> str:
    """List parameter names in schema order; optional ones get a question mark: `query, limit?`."""
    properties = (schema or {}).get("properties")
    if not isinstance(properties, dict):
        return ""
    required = (schema or {}).get("required")
    needed = (
        {name for name in required if isinstance(name, str)}
        if isinstance(required, list)
        else set()
    )
    names = [name if name in needed else f"{name}?" for name in properties]
    return _join_within_limit(names)


def _join_within_limit(names: list[str]) -> str:
    """Join as many names as fit, plus the number of the rest."""
    text = ", ".join(names)
    if len(text) <= _SUMMARY_CHARACTERS:
        return text
    count = len(names)
    while count and len(text) > _SUMMARY_CHARACTERS:
        count -= 1
        text = f"{', '.join(names[:count])} (+{len(names) - count} more)"
    return text if count else f"{len(names)} parameters"


# The order of parameters of stored rows, where it is all that differs from their source.
#
# Digests ignore it, so that a source that only reorders its keys causes no review. Rows of earlier
# releases have the order of jsonb until their source is read again.

# Only rows that differ in nothing else: one that was edited past the gate stays as it is.
_FIND = """
SELECT c.id, given.place FROM catalog_capability c
JOIN unnest(%s::int[], %s::text[], %s::text[], %s::text[], %s::text[])
  AS given (place, identifier, definition_hash, input, output)
  ON given.identifier = c.identifier AND given.definition_hash = c.definition_hash
WHERE (c.input_schema::text, c.output_schema::text) IS DISTINCT FROM (given.input, given.output)
  AND (c.input_schema::jsonb::text, c.output_schema::jsonb::text)
    IS NOT DISTINCT FROM (given.input::jsonb::text, given.output::jsonb::text)
ORDER BY c.id
"""
_RESTORE = """
UPDATE catalog_capability c
SET input_schema = given.input, output_schema = given.output, parameters_summary = given.summary
FROM unnest(%s::bigint[], %s::json[], %s::json[], %s::text[]) AS given (id, input, output, summary)
WHERE c.id = given.id
"""


def restore_order(descriptors: Iterable[Descriptor]) -> int:
    """Write the schemas of stored, otherwise equal definitions in their source's order.

    Nothing is reviewed or embedded again. Return the number of rows written.
    """
    with_schemas = [item for item in descriptors if item.input_schema or item.output_schema]
    schemas = [
        (_as_stored(item.input_schema), _as_stored(item.output_schema)) for item in with_schemas
    ]
    inputs, outputs = [item for item, _ in schemas], [item for _, item in schemas]
    names, hashes = (
        [item.identifier for item in with_schemas],
        [item.definition_hash for item in with_schemas],
    )
    with connection.cursor() as cursor:
        cursor.execute(_FIND, [list(range(len(with_schemas))), names, hashes, inputs, outputs])
        rows = cursor.fetchall()
    if not rows:
        return 0
    lock_catalog()
    places = [place for _, place in rows]
    summaries = [summarize_parameters(with_schemas[place].input_schema) for place in places]
    some = [[column[place] for place in places] for column in (inputs, outputs)]
    with connection.cursor() as cursor:
        cursor.execute(_RESTORE, [[key for key, _ in rows], *some, summaries])
    return len(rows)


def _as_stored(schema: JSONObject | None) -> str | None:
    """Serialize a schema as `OrderedJSONField` does."""
    return None if schema is None else json.dumps(schema)
