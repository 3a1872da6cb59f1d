"""Names of arguments that a provider refuses, and the way back from those that stand for them."""

import re
from hashlib import sha256

from catalog.formats.descriptors import JSONObject

LEGAL = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_LONGEST = 64
_HASH = 8


def with_legal_keys(schema: JSONObject) -> JSONObject:
    """The schema with another name for each argument whose own is refused."""
    others = {original: legal for legal, original in renamed_keys(schema).items()}
    if not others:
        return schema
    properties = schema["properties"].items()
    renamed = {others.get(name, name): inner for name, inner in properties}
    required = [others.get(name, name) for name in schema.get("required", ())]
    return {**schema, "properties": renamed} | ({"required": required} if required else {})


def renamed_keys(schema: JSONObject) -> dict[str, str]:
    """The arguments' own names by those that stand for them; most schemas have none."""
    properties = schema.get("properties") or {}
    refused = sorted(name for name in properties if not LEGAL.fullmatch(name))
    names: dict[str, str] = {}
    for name in refused:
        legal = _readable(name)
        if not legal or legal in properties or legal in names:
            digest = sha256(name.encode(errors="replace")).hexdigest()[:_HASH]
            legal = f"{legal[: _LONGEST - _HASH - 1]}_{digest}"
        names[legal] = name
    return names


def _readable(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_.-]+", "_", name).strip("_")[:_LONGEST]
