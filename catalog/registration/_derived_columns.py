"""Columns derived from a capability's definition."""

import hashlib
from copy import copy

from pgvector import SparseVector

from catalog.effects.assessment import CORRECTABLE, corrected_columns
from catalog.effects.classifier import assess
from catalog.embedding.multilingual_embedder import reader_of
from catalog.embedding.texts import text_without_order
from catalog.formats.descriptors import JSONObject, canonical_json
from catalog.lexical import DIMENSIONS, document_vector
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
