"""Pinning of tools: digests of definitions exactly as their server sent them.

Before cleaning, so that only a change by the server changes the digest, never one by Pegboard's
reader.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from catalog.formats.descriptors import JSONObject, canonical_json, ordered_json

# Everything a model or a policy sees; the rest of a server's answer is ignored.
PINNED = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")


def pinned_part(tool: Mapping[str, Any]) -> JSONObject:
    """Return the pinned fields of a `tools/list` entry."""
    return {key: tool[key] for key in PINNED if tool.get(key) is not None}


def serialize_definition(definition: Mapping[str, Any]) -> str:
    """Serialize a definition in its source's order, in ASCII, so that any column keeps it."""
    return ordered_json(dict(definition), ascii_only=True)


def canonical_definition(definition: Mapping[str, Any]) -> str:
    """Serialize equal definitions equally, whatever the order of their keys."""
    return canonical_json(dict(definition), ascii_only=True)


def digest_definition(definition: Mapping[str, Any]) -> str:
    """Return the digest of a definition. The order of keys does not change it."""
    return digest_text(canonical_definition(definition))


def parse_definition(text: str) -> JSONObject:
    """Parse a serialized definition."""
    definition: JSONObject = json.loads(text) if text else {}
    return definition


def digest_text(text: str) -> str:
    """Return the digest of a text, such as a canonical definition."""
    return hashlib.sha256(text.encode()).hexdigest()
