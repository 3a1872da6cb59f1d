"""Answers as dataclasses: each field says how it is written as JSON and what it means.

`write_answer` writes them; `acl/web/answer_serializer.py` describes the same fields in OpenAPI.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache, partial
from operator import attrgetter
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, NamedTuple, Union, get_args, get_origin, get_type_hints


class Answer:
    """Base of dataclasses that are answered as a whole. `component` is their name in OpenAPI."""

    __slots__ = ()
    component: ClassVar[str] = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """Presence of a field in an answer, for `Annotated`.

    Outside of an `Answer`, a field without it stays inside Pegboard. A field with two of them is
    written twice.
    """

    help: str = ""
    name: str = ""  # in JSON, where it is another than the field's own
    parts: frozenset[str] | None = None  # written if one of these is wanted; None is always
    optional: bool = False  # left out where it is empty
    choices: Any = ()
    bounds: tuple[float, float] | None = None
    type: Any = None  # in JSON, where it is another than the field's own
    write: Callable[[Any], Any] | None = None
    write_part: Callable[[str, Any], Any] | None = None  # the same, told which part is written


# The fields of the dataclass inside stand among those of the one around it.
SPREAD = object()


class Field(NamedTuple):
    """A field as an answer has it."""

    source: str  # the way to the value, by attributes: `selection.reason`
    name: str
    type: Any
    shown: Shown


@lru_cache(maxsize=256)
def fields_of(model: type) -> tuple[Field, ...]:
    """Return a model's fields in the order of the answer, those of every part included."""
    hints = get_type_hints(model, include_extras=True)
    found: list[Field] = []
    for one in fields(model):
        kind, marks = _annotated(hints[one.name])
        if SPREAD in marks:
            inside = fields_of(kind)
            found += [each._replace(source=f"{one.name}.{each.source}") for each in inside]
            continue
        ways = [mark for mark in marks if isinstance(mark, Shown)]
        ways = ways or ([Shown()] if issubclass(model, Answer) else [])
        found += [Field(one.name, way.name or one.name, way.type or kind, way) for way in ways]
    return tuple(found)


def write_answer(answer: object, parts: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Write a model as JSON values, with the optional parts that are wanted."""
    model: Any = type(answer)
    names, read, writers, optional = _plan(model, parts)
    body = dict(zip(names, read(answer), strict=True))
    for name, write in writers:
        body[name] = write(body[name])
    for name in optional:
        if not body[name]:
            del body[name]
    return body


class _Plan(NamedTuple):
    """The way to write a model, worked out once for the same parts: this is done for each tool."""

    names: tuple[str, ...]
    read: Callable[[object], tuple[Any, ...]]
    writers: tuple[tuple[str, Callable[[Any], Any]], ...]
    optional: tuple[str, ...]


@lru_cache(maxsize=256)
def _plan(model: type, parts: frozenset[str]) -> _Plan:
    shown = [(each, each.shown.parts) for each in fields_of(model)]
    wanted = [each for each, own in shown if own is None or own & parts]
    writers = [(each.name, _writer(each, parts)) for each in wanted]
    return _Plan(
        tuple(each.name for each in wanted),
        _reader([each.source for each in wanted]),
        tuple((name, write) for name, write in writers if write),
        tuple(each.name for each in wanted if each.shown.optional),
    )


def _reader(sources: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    read = attrgetter(*sources)
    return read if len(sources) > 1 else lambda answer: (read(answer),)


def _writer(field: Field, parts: frozenset[str]) -> Callable[[Any], Any] | None:
    """Return the function that writes a value; None where JSON takes it as it is."""
    shown = field.shown
    if shown.write_part and shown.parts:
        (part,) = shown.parts & parts
        return partial(shown.write_part, part)
    if shown.write or shown.type:  # another type is of what has been written already
        return shown.write
    kind = without_none(field.type)
    if is_dataclass(kind):
        return lambda value: None if value is None else write_answer(value, parts)
    if get_origin(kind) in (tuple, list) and is_dataclass(get_args(kind)[0]):
        return lambda values: [write_answer(value, parts) for value in values]
    return None


def without_none(kind: Any) -> Any:
    """Return the type of `X | None` without None, and any other as it is."""
    if get_origin(kind) not in (Union, UnionType):
        return kind
    (only,) = (one for one in get_args(kind) if one is not NoneType)
    return only


def _annotated(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the type and what it is annotated with."""
    return (hint.__origin__, hint.__metadata__) if get_origin(hint) is Annotated else (hint, ())
