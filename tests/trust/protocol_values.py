"""Strategies for values of MCP's types, made from the types themselves, and places in them."""

import types as python_types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

Path = tuple[Any, ...]
_WORDS = st.sampled_from(["", "a", "Which day?", "blue", "calendar", "Second line\nof it"])
_ANY = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | _WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_WORDS, inner, max_size=2),
    max_leaves=4,
)


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Return values of a type as JSON has them, by the names of the protocol."""
    origin, inner = get_origin(kind), get_args(kind)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return st.deferred(lambda: _objects_of(kind))
    if origin is Literal:
        return st.sampled_from(inner)
    if origin is Annotated:
        return values_of(inner[0])
    if origin in (Union, python_types.UnionType):
        return st.one_of(*map(values_of, inner))
    if origin is list:
        return st.lists(values_of(inner[0]), max_size=2)
    if origin is dict:
        return st.dictionaries(_WORDS, values_of(inner[1]), max_size=2)
    simple = {str: _WORDS, int: st.integers(0, 9), float: st.floats(0, 1), bool: st.booleans()}
    return st.none() if kind in (None, type(None)) else simple.get(kind, _ANY)


def _objects_of(model: type[BaseModel]) -> st.SearchStrategy[Any]:
    names: dict[bool, dict[Any, Any]] = {True: {}, False: {}}
    for name, field in model.model_fields.items():
        is_needed = field.is_required() or get_origin(field.annotation) is Literal
        names[is_needed][field.alias or name] = values_of(field.annotation)
    return st.fixed_dictionaries(names[True], optional=names[False])


def is_valid(kind: Any, value: Any) -> bool:
    """Return True if the SDK reads the value as one of this type."""
    try:
        TypeAdapter(kind).validate_python(value, by_name=False)
    except ValidationError:
        return False
    return True


def places_in(value: Any, path: Path = ()) -> Iterator[tuple[Path, bool]]:
    """Yield the path to each text, and whether it is a key."""
    if isinstance(value, str):
        yield path, False
    for name, inner in _inside(value):
        if isinstance(name, str):
            yield (*path, name), True
        yield from places_in(inner, (*path, name))


def _inside(value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, list) else []


def put(value: Any, path: Path, text: str, *, is_key: bool) -> Any:
    """Return the value with a text in this place."""
    if not path:
        return text
    name, *rest = path
    parts = _inside(value)
    if is_key and not rest:
        return {text if key == name else key: inner for key, inner in parts}
    changed = [
        (key, put(inner, tuple(rest), text, is_key=is_key) if key == name else inner)
        for key, inner in parts
    ]
    return dict(changed) if isinstance(value, dict) else [inner for _, inner in changed]
