"""What is pinned of a tool: its definition as its server says it, before anything is cleaned or
worked out. So a change of the server's is a change here, and one of Pegboard's own reading is none.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from catalog.formats.descriptors import JSONObject, canonical_json

# All that a model or a policy gets to see. Nothing else of a server's answer is read.
PINNED = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")


def pinned_part(tool: Mapping[str, Any]) -> JSONObject:
    """The fields that count, of an entry of `tools/list`."""
    return {key: tool[key] for key in PINNED if tool.get(key) is not None}


def written(definition: Mapping[str, Any]) -> str:
    """One text for equal definitions; plain ASCII, so that any column takes it as it was."""
    return canonical_json(dict(definition), ascii_only=True)


def read_back(text: str) -> JSONObject:
    """The definition that was written."""
    definition: JSONObject = json.loads(text) if text else {}
    return definition


def digest_of(text: str) -> str:
    """What is pinned of a written definition."""
    return hashlib.sha256(text.encode()).hexdigest()
