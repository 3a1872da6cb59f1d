"""Replacements for argument names that a provider rejects."""

import re
from hashlib import sha256

from catalog.formats.descriptors import JSONObject

LEGAL = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_LONGEST = 64
_HASH = 8


def rename_illegal_keys(schema: JSONObject) -> JSONObject:
    """Return the schema with valid names for its arguments."""
    replacements = {original: legal for legal, original in map_renamed_keys(schema).items()}
    if not replacements:
        return schema
    properties = schema["properties"].items()
    renamed = {replacements.get(name, name): inner for name, inner in properties}
    required = [replacements.get(name, name) for name in schema.get("required", ())]
    return {**schema, "properties": renamed} | ({"required": required} if required else {})


def map_renamed_keys(schema: JSONObject) -> dict[str, str]:
    """Return the original names by their replacements; empty for most schemas."""
    properties = schema.get("properties") or {}
    refused = sorted(name for name in properties if not LEGAL.fullmatch(name))
    names: dict[str, str] = {}
    for name in refused:
        legal = _to_legal(name)
        if not legal or legal in properties or legal in names:
            digest = sha256(name.encode(errors="replace")).hexdigest()[:_HASH]
            legal = f"{legal[: _LONGEST - _HASH - 1]}_{digest}"
        names[legal] = name
    return names


def _to_legal(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_.-]+", "_", name).strip("_")[:_LONGEST]
