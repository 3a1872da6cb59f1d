"""Columns derived from a capability's definition."""

import hashlib

from pgvector import SparseVector

from catalog.embedding.embedding_text import embedding_text
from catalog.formats.descriptors import canonical_json
from catalog.formats.parameter_summary import parameters_summary
from catalog.lexical import DIMENSIONS, document_vector
from catalog.models import Capability
from catalog.tokens import estimate_tokens


def fill_in(capability: Capability) -> None:
    """Set the derived columns."""
    capability.tokens = definition_tokens(capability)
    capability.fingerprint = fingerprint(capability)
    capability.parameters_summary = parameters_summary(capability.input_schema)


def definition_tokens(capability: Capability) -> int:
    """Estimate the tokens of the full definition."""
    definition = {
        "name": capability.full_name,
        "description": capability.description,
        "input_schema": capability.input_schema,
    }
    return estimate_tokens(definition)


def fingerprint(capability: Capability) -> str:
    """Return a hash equal for the same definition on another integration."""
    definition = [
        capability.action,
        capability.description,
        capability.input_schema,
        capability.output_schema,
        capability.content,
    ]
    return _digest(canonical_json(definition))


def text_hash(capability: Capability) -> str:
    """Return the hash of the embedded text."""
    return _digest(embedding_text(capability))


def lexical_terms(capability: Capability) -> SparseVector:
    """Return the capability's BM25 vector as stored."""
    return SparseVector(document_vector(capability), DIMENSIONS)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
