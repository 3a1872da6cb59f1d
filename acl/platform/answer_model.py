"""Answers as dataclasses: each field says how it is written as JSON and what it means.

`write_answer` writes them; `acl/web/serializers.py` describes the same fields in OpenAPI.
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
# The field stays inside Pegboard, in an `Answer` too.
HIDDEN: Any = object()


class Field(NamedTuple):
    """A field as an answer has it."""

    source: str  # the way to the value, by attributes: `selection.reason`
    name: str
    type: Any
    shown: Shown


@lru_cache(maxsize=256)
def fields_of(model: type) -> tuple[Field, ...]:
    """Return a model's fields in the order of the answer, those of every part included.

    A property is one as well if its type is annotated with `Shown`.
    """
    hints = get_type_hints(model, include_extras=True)
    answer_fields: list[Field] = []
    for field in fields(model):
        kind, marks = _annotated(hints[field.name])
        if SPREAD in marks:
            inside = fields_of(kind)
            answer_fields += [
                part._replace(source=f"{field.name}.{part.source}") for part in inside
            ]
            continue
        answer_fields += _ways(field.name, kind, marks, default=issubclass(model, Answer))
    for name, member in vars(model).items():
        if isinstance(member, property) and member.fget:
            hint = get_type_hints(member.fget, include_extras=True).get("return")
            answer_fields += _ways(name, *_annotated(hint), default=False)
    return tuple(answer_fields)


def _ways(source: str, kind: Any, marks: tuple[Any, ...], *, default: bool) -> list[Field]:
    ways = [mark for mark in marks if isinstance(mark, Shown)]
    if not ways and default and HIDDEN not in marks:
        ways = [Shown()]
    return [Field(source, way.name or source, way.type or kind, way) for way in ways]


def write_answer(answer: object, parts: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Write a model as JSON values, with the optional parts that are wanted."""
    model: Any = type(answer)
    names, read_values, writers, optional = _plan(model, parts)
    body = dict(zip(names, read_values(answer), strict=True))
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
    pairs = [(field, field.shown.parts) for field in fields_of(model)]
    chosen = [field for field, field_parts in pairs if field_parts is None or field_parts & parts]
    writers = [(field.name, _writer(field, parts)) for field in chosen]
    sources = [field.source for field in chosen]
    getter = attrgetter(*sources)
    return _Plan(
        tuple(field.name for field in chosen),
        getter if len(sources) > 1 else lambda answer: (getter(answer),),
        tuple((name, write) for name, write in writers if write),
        tuple(field.name for field in chosen if field.shown.optional),
    )


def _writer(field: Field, parts: frozenset[str]) -> Callable[[Any], Any] | None:
    """Return the function that writes a value; None where JSON takes it as it is."""
    display = field.shown
    if display.write_part and display.parts:
        (part,) = display.parts & parts
        return partial(display.write_part, part)
    if display.write or display.type:  # another type is of what has been written already
        return display.write
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
    (only,) = (argument for argument in get_args(kind) if argument is not NoneType)
    return only


def _annotated(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the type and what it is annotated with."""
    return (hint.__origin__, hint.__metadata__) if get_origin(hint) is Annotated else (hint, ())


class FieldRefused(Exception):
    """Refusal of what a request says in `field`. The API answers 400 by itself."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
