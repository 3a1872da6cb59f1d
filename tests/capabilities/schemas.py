"""Hypothesis strategies: JSON, schemas of all kinds, and values to validate."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

# Words that are keywords in some positions and argument names in others.
NAMES = ("description", "title", "examples", "default", "$schema", "properties", "items", "x", "y")
TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
REFERENCES = (
    "#",
    "#/$defs/x",
    "#/$defs/description",
    "#/properties/title",
    "#/properties/title/description",
    "#/examples/0",
    "#/anyOf/0",
)
Draw = Callable[[st.SearchStrategy[Any]], Any]

name = st.sampled_from(NAMES)
scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "abc", "ß"])
anything = st.recursive(
    st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(name | st.sampled_from(["type", "required", "enum", "$ref"]), inner)
    ),
    max_leaves=20,
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(name, inner, max_size=4),
    max_leaves=8,
)
_PLAIN: dict[str, st.SearchStrategy[Any]] = {
    "$comment": st.just("For people."),
    "description": st.sampled_from(["For people, who like to read.", ""]),
    "title": st.just("A title"),
    "examples": st.lists(scalars, max_size=2),
    "default": values,
    "type": st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), min_size=1, unique=True),
    "enum": st.lists(values, min_size=1, max_size=4),
    "const": values,
    "minLength": st.integers(0, 3),
    "maximum": st.integers(-3, 3),
    "required": st.lists(name, unique=True, max_size=3),
    "$ref": st.sampled_from(REFERENCES),
}
_ONE = ("additionalProperties", "items", "contains", "if", "then", "not", "propertyNames")
_SEVERAL = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "$defs", "dependentSchemas")
_keywords = {
    deep: st.lists(
        st.sampled_from([*_PLAIN, *_ONE, *_SEVERAL, *_NAMED] if deep else [*_PLAIN]),
        max_size=5,
        unique=True,
    )
    for deep in (True, False)
}
_names = st.lists(name, max_size=3, unique=True)
_count = st.integers(1, 2)
_bare = st.sampled_from([True, False, None, None, None])


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a schema of the latest draft, some with references to themselves or to nowhere."""
    schema = _schema(draw, 3) | {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return schema | {"properties": {each: _inner(draw, 2) for each in draw(_names)}}


def _inner(draw: Draw, depth: int) -> Any:
    bare = draw(_bare)
    return _schema(draw, depth) if bare is None else bare


def _schema(draw: Draw, depth: int) -> dict[str, Any]:
    return {keyword: _value(draw, keyword, depth - 1) for keyword in draw(_keywords[depth > 0])}


def _value(draw: Draw, keyword: str, depth: int) -> Any:
    if keyword in _ONE:
        return _inner(draw, depth)
    if keyword in _SEVERAL:
        return [_inner(draw, depth) for _ in range(draw(_count))]
    if keyword in _NAMED:
        return {each: _inner(draw, depth) for each in draw(_names)}
    return draw(_PLAIN[keyword])
