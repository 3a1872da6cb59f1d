"""The canonical rendering of a JSON object: typed, and with every character visible.

Approvals, pages of calls and the audit log show it. Any two objects that differ in a type, a digit
or a character are rendered differently.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from django.utils.translation import gettext, gettext_noop

from acl.platform.strict_json import NumberLiteral, StrictJSONError, parse_json, write_json
from acl.visible_text.pieces import Piece, join_pieces, show_text, split_into_pieces

Kind = Literal["text", "number", "boolean", "null", "object", "list"]

LONG = 600  # characters; longer texts are folded
MOST_LINES = 40  # of one argument, before it is folded
DIGEST_DIGITS = 12
BEGINNING = 80
_DEEPEST = 64  # arguments are refused at 16
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
WORDS: dict[Kind, str] = {
    "text": gettext_noop("text"), "number": gettext_noop("number"),
    "boolean": gettext_noop("yes or no"), "null": gettext_noop("nothing"),
    "object": gettext_noop("object"), "list": gettext_noop("list"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """A value, or the head of an object or list whose parts follow one level deeper."""

    depth: int
    name: tuple[Piece, ...]  # empty for the items of a list
    kind: Kind
    value: tuple[Piece, ...]
    text: str = field(default="", repr=False)  # what a text is made of

    @property
    def size(self) -> int:
        """In characters."""
        return len(self.text)

    @property
    def is_long(self) -> bool:
        """True if it is folded."""
        return self.size > LONG or self.text.count("\n") > 20

    @property
    def digest(self) -> str:
        """The beginning of the SHA-256 of the text."""
        return digest_of_text(self.text)

    @property
    def beginning(self) -> tuple[Piece, ...]:
        """The beginning of the text, on one line, for a fold."""
        return tuple(
            Piece(piece.text.rstrip("\n"), piece.kind)
            for piece in split_into_pieces(self.text[:BEGINNING])
        )

    @property
    def is_head(self) -> bool:
        """True if it only says how many parts follow."""
        return self.kind == "object" or (self.kind == "list" and self.value[0].text[0] != "[")

    @property
    def word(self) -> str:
        """The type, for readers."""
        return gettext(WORDS[self.kind])


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument with its name, its meaning from the tool's schema, and its lines."""

    key: str
    meaning: tuple[Piece, ...]
    lines: tuple[Line, ...]
    source: str = field(repr=False)

    @property
    def head(self) -> Line:
        """The line with the argument's own name."""
        return self.lines[0]

    @property
    def parts(self) -> tuple[Line, ...]:
        """The lines inside an object or a list."""
        return self.lines[1:]

    @property
    def is_long(self) -> bool:
        """True if its parts are folded."""
        return len(self.lines) > MOST_LINES

    @property
    def size(self) -> int:
        """Length of its JSON in characters."""
        return len(self.source)

    @property
    def digest(self) -> str:
        """The beginning of the SHA-256 of its JSON."""
        return digest_of_text(self.source)

    @property
    def has_marks(self) -> bool:
        """True if a character of it is written out or pointed out."""
        pieces = (piece for line in self.lines for piece in (*line.name, *line.value))
        return any(piece.kind not in {"plain", "line"} for piece in pieces)


@dataclass(frozen=True, slots=True)
class Rendering:
    """All arguments in the order in which they are sent, or why they cannot be displayed."""

    arguments: tuple[Argument, ...] = ()
    problem: str = ""

    @property
    def has_marks(self) -> bool:
        """True if a character is written out or pointed out."""
        return any(argument.has_marks for argument in self.arguments)


def render_arguments(source: str, properties: dict[str, Any] | None = None) -> Rendering:
    """Render arguments from their JSON. Never raises: what is no JSON object has a `problem`."""
    try:
        values = parse_json(source, max_depth=_DEEPEST, literal_numbers=True)
    except StrictJSONError as problem:
        return Rendering(problem=str(problem))
    if not isinstance(values, dict):
        return Rendering(problem="the arguments are not an object")
    return Rendering(
        tuple(
            _argument(name, value, (properties or {}).get(name)) for name, value in values.items()
        )
    )


def text_of(rendering: Rendering) -> str:
    """Return the rendering as plain text, a line for each value."""
    if rendering.problem:
        return f"cannot be displayed: {rendering.problem}"
    return "\n".join(
        text_of_line(line) for argument in rendering.arguments for line in argument.lines
    )


def text_of_line(line: Line) -> str:
    """Return one line as text: its depth, its name, and its value."""
    name = join_pieces(list(line.name))
    inset = "  " * line.depth
    value = join_pieces(list(line.value)).replace("\n", f"\n{inset}│ ")
    return f"{inset}{name}: {value}" if name else f"{inset}- {value}"


def digest_of_text(text: str) -> str:
    """Return the first hexadecimal digits of a text's SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_DIGITS]


def text_of_value(value: Any) -> str:
    """Render one value as text on few lines, as of a row of the audit log. Never raises."""
    match value:
        case str():
            return f'"{show_text(value)}"'
        case dict():
            parts = (
                f"{join_pieces(list(_name(str(k))))}: {text_of_value(v)}" for k, v in value.items()
            )
            return f"{{{', '.join(parts)}}}" if value else "empty object"
        case list() | tuple():
            return f"[{', '.join(map(text_of_value, value))}]" if value else "empty list"
        case None | bool() | int() | float():
            return json_number(value)
    return f'"{show_text(str(value))}"'


def json_number(value: float | bool | None) -> str:
    """Return a number, flag or null as JSON; what JSON has no word for, by Python's."""
    try:
        return write_json(value)
    except ValueError:
        return str(value)


def _argument(name: str, value: Any, part: Any) -> Argument:
    meaning = part.get("description") if isinstance(part, dict) else ""
    return Argument(
        name,
        tuple(split_into_pieces(meaning if isinstance(meaning, str) else "")),
        tuple(_lines(_name(name), value, 0)),
        _source(value),
    )


def _lines(name: tuple[Piece, ...], value: Any, depth: int) -> Iterator[Line]:
    yield _line(name, value, depth)
    if isinstance(value, dict):
        for inner, part in value.items():
            yield from _lines(_name(inner), part, depth + 1)
    elif isinstance(value, list) and not _is_row(value):
        for part in value:
            yield from _lines((), part, depth + 1)


def _line(name: tuple[Piece, ...], value: Any, depth: int) -> Line:
    match value:
        case NumberLiteral():
            return Line(depth, name, "number", (Piece(str(value)),))
        case str():
            return Line(
                depth, name, "text", (Piece('"'), *split_into_pieces(value), Piece('"')), value
            )
        case dict():
            return Line(depth, name, "object", (Piece(_counted(len(value), "name", "object")),))
        case list() if _is_row(value):
            return Line(depth, name, "list", (Piece(f"[{', '.join(map(_atom, value))}]"),))
        case list():
            return Line(depth, name, "list", (Piece(_counted(len(value), "item", "list")),))
    kind: Kind = "null" if value is None else "boolean"
    return Line(depth, name, kind, (Piece(_atom(value)),))


def _is_row(value: list[Any]) -> bool:
    """Return True for a list of numbers and the like, which reads best on one line."""
    return bool(value) and not any(
        (isinstance(item, str) and not isinstance(item, NumberLiteral))
        or isinstance(item, dict | list)
        for item in value
    )


def _atom(value: Any) -> str:
    return str(value) if isinstance(value, NumberLiteral) else write_json(value)


def _counted(number: int, part: str, whole: str) -> str:
    if not number:
        return f"empty {whole}"
    return f"{whole} of {number:,} {part}{'' if number == 1 else 's'}"


def _name(name: str) -> tuple[Piece, ...]:
    """Return a plain name as it is, and any other in quotation marks, its own written out."""
    if _PLAIN_NAME.fullmatch(name):
        return (Piece(name),)
    first, *others = name.split('"')
    pieces = [Piece('"'), *split_into_pieces(first)]
    for part in others:
        pieces += [Piece("[U+0022 QUOTATION MARK]", "hidden"), *split_into_pieces(part)]
    # The piece on one line: a line feed in a name is shown by its sign only.
    return tuple(
        Piece(piece.text.rstrip("\n"), "hidden") if piece.kind == "line" else piece
        for piece in [*pieces, Piece('"')]
    )


def _source(value: Any) -> str:
    """Return the JSON of a value, with numbers as they were written."""
    if isinstance(value, NumberLiteral):
        return str(value)
    if isinstance(value, dict):
        return (
            f"{{{','.join(f'{write_json(name)}:{_source(part)}' for name, part in value.items())}}}"
        )
    if isinstance(value, list):
        return f"[{','.join(map(_source, value))}]"
    return write_json(value)
