"""Input schemas: a good one, and random odd ones."""

from typing import Any

from hypothesis import strategies as st

# Keywords in wrong places with wrong values, as catalogues contain them.
KEYWORDS = [
    "type", "properties", "required", "items", "prefixItems", "additionalItems", "enum", "const",
    "anyOf", "allOf", "oneOf", "not", "$ref", "$defs", "definitions", "dependencies", "minimum",
    "exclusiveMinimum", "maxLength", "pattern", "title", "description", "$schema", "$id", "default",
    "dependentRequired", "additionalProperties", "if", "then", "format", "examples", "uniqueItems",
    "a", "$top",
]  # fmt: skip
WORDS = ["string", "any", "int", "array", "object", "(", ""]
PLACES = ["#", "#/$defs/a", "#/definitions/a", "#/items/0", "https://a.example/b.json"]
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([*WORDS, *PLACES])
)
ODD = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=4)
    ),
    max_leaves=25,
)
GOOD: dict[str, Any] = {
    "type": "object",
    "properties": {
        "to": {"type": "array", "items": {"$ref": "#/$defs/address"}, "minItems": 1},
        "urgency": {"type": "string", "enum": ["low", "high"], "default": "low"},
        "when": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
    },
    "required": ["to"],
    "additionalProperties": False,
    "$defs": {"address": {"type": "string", "pattern": "@"}},
}
