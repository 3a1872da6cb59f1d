"""JSON from outside, parsed by one set of rules, and JSON written for others.

Python's own parser takes `NaN`, turns `1e999` into an infinity, keeps the last of two equal names
and stops at 4,300 digits with an error of its own. Postgres and other parsers refuse the first, and
disagree about the second: a value that passed here must be the same value everywhere.
Standards: RFC 8259, and RFC 7493 (I-JSON) for names, numbers and texts.
"""

import json
import math
import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

DEEPEST = 32
# Every integer of so many digits is below the largest double, so nothing that converts one fails.
LONGEST_NUMBER = 300
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
# The closing quote may be missing: a text that never ends is passed over once, not tried at every
# quote in it.
_TOKEN = re.compile(
    r'"(?:[^"\\]++|\\.)*+"?+|[\[{]|[\]}]|-?[0-9][0-9.eE+-]*+|-?[A-Za-z]++', re.DOTALL
)
_ZERO = re.compile(r"-?0(?:\.0*+)?(?:[eE].*+)?")


class StrictJSONError(ValueError):
    """The text is not JSON, or not JSON that everyone reads alike. `field` is a path."""

    def __init__(self, reason: str, *, line: int = 0, column: int = 0, field: str = "") -> None:
        where = f" (line {line}, column {column})" if line else f" ({field})" if field else ""
        super().__init__(reason + where)
        self.reason, self.line, self.column, self.field = reason, line, column, field


class NumberLiteral(str):
    """A number as it was written."""

    __slots__ = ()


def parse_json(
    text: str | bytes | bytearray,
    *,
    max_depth: int = DEEPEST,
    any_text: bool = False,
    literal_numbers: bool = False,
) -> Any:
    """Return the value in `text`. Raises StrictJSONError with the line and column, or the field.

    `any_text` keeps NUL characters and half surrogate pairs, for readers that take them out.
    Numbers keep their value: integers all their digits, others as doubles. With `literal_numbers`
    each is a NumberLiteral, for those who show it.
    """
    text = text if isinstance(text, str) else _decode(bytes(text))
    check_depth(text, max_depth)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique_names,
            parse_constant=_refuse_number,
            parse_float=_keep_float if literal_numbers else _read_float,
            parse_int=_keep_integer if literal_numbers else _read_integer,
        )
    except json.JSONDecodeError as error:
        raise StrictJSONError(error.msg, line=error.lineno, column=error.colno) from None
    except _RefusedNumber as refused:
        raise _located(text, refused) from None
    except RecursionError:
        raise StrictJSONError(f"nested more than {max_depth} deep") from None
    # Escapes are the only way in for both, once the bytes are UTF-8.
    if not any_text and ("\\u" in text or _UNSTORABLE.search(text)):
        check_value(value, max_depth=max_depth)
    return value


def check_value(value: Any, *, max_depth: int = DEEPEST, nul: bool = False) -> None:
    """Raise StrictJSONError unless a value in memory could have been parsed from strict JSON.

    For what another library has parsed. `nul` accepts NUL characters in texts.
    """
    bad = _SURROGATE if nul else _UNSTORABLE
    for path, inner, depth in _walk(value):
        if depth > max_depth and isinstance(inner, dict | list | tuple):
            raise StrictJSONError(f"nested more than {max_depth} deep", field=path)
        if isinstance(inner, str) and bad.search(inner):
            raise StrictJSONError("a NUL character or half a surrogate pair", field=path)
        if isinstance(inner, float) and not math.isfinite(inner):
            raise StrictJSONError("a number that is not finite", field=path)
        if type(inner) is int and inner.bit_length() > LONGEST_NUMBER * 10 // 3:
            raise StrictJSONError(f"a number of more than {LONGEST_NUMBER} digits", field=path)


def write_json(
    value: Any, *, ensure_ascii: bool = True, indent: int | None = None, compact: bool = True
) -> str:
    """Return a value as JSON. Raises ValueError for NaN and infinities."""
    separators = (",", ":") if compact and indent is None else None
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, allow_nan=False
    )


def _walk(value: Any) -> Iterator[tuple[str, Any, int]]:
    """Yield every value with path and depth, including names, without recursion."""
    waiting: list[tuple[str, Any, int]] = [("", value, 1)]
    while waiting:
        path, inner, depth = waiting.pop()
        yield path, inner, depth
        if isinstance(inner, dict):
            for name, part in inner.items():
                inner_path = f"{path}.{str(name)[:40]}" if path else str(name)[:40]
                inner_path = inner_path.encode("ascii", "backslashreplace").decode()[:200]
                yield inner_path, name, depth
                waiting.append((inner_path, part, depth + 1))
        elif isinstance(inner, list | tuple):
            waiting.extend(
                (f"{path}.{place}" if path else str(place), part, depth + 1)
                for place, part in enumerate(inner)
            )


class _RefusedNumber(ValueError):
    def __init__(self, literal: str, reason: str) -> None:
        super().__init__(reason)
        self.literal, self.reason = literal, reason


def _refuse_number(literal: str) -> NoReturn:
    raise _RefusedNumber(literal, f"{literal} is no JSON number")


def _read_float(literal: str) -> float:
    if len(literal) > LONGEST_NUMBER:
        raise _RefusedNumber(literal, f"a number of more than {LONGEST_NUMBER} characters")
    number = float(literal)
    if not math.isfinite(number):
        raise _RefusedNumber(literal, f"{literal[:20]} is too large")
    # It would be sent as nothing at all.
    if number == 0 and not _ZERO.fullmatch(literal):
        raise _RefusedNumber(literal, f"{literal[:20]} is too small")
    return number


def _read_integer(literal: str) -> int:
    if len(literal) > LONGEST_NUMBER:
        raise _RefusedNumber(literal, f"a number of more than {LONGEST_NUMBER} digits")
    return int(literal)


def _keep_float(literal: str) -> NumberLiteral:
    _read_float(literal)
    return NumberLiteral(literal)


def _keep_integer(literal: str) -> NumberLiteral:
    _read_integer(literal)
    return NumberLiteral(literal)


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        names: set[str] = set()
        for name, _ in pairs:
            if name in names:
                raise StrictJSONError(f"the key {name[:80]!r} occurs twice")
            names.add(name)
    return mapping


def _decode(body: bytes) -> str:
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise StrictJSONError(f"not UTF-8 (byte {error.start})") from None
    if text.startswith("\ufeff"):
        raise StrictJSONError("it begins with a byte order mark", line=1, column=1)
    return text


def check_depth(text: str, max_depth: int) -> None:
    """Check the depth before parsing, which is recursive."""
    if text.count("[") + text.count("{") <= max_depth:
        return
    depth = 0
    for match in _TOKEN.finditer(text):
        if match[0] in ("[", "{"):
            depth += 1
            if depth > max_depth:
                line, column = _place(text, match.start())
                raise StrictJSONError(
                    f"nested more than {max_depth} deep", line=line, column=column
                )
        elif match[0] in ("]", "}"):
            depth -= 1


def _located(text: str, refused: _RefusedNumber) -> StrictJSONError:
    """Return the error with the position of the literal, which the parser's hooks do not get."""
    for match in _TOKEN.finditer(text):
        if match[0] == refused.literal:
            line, column = _place(text, match.start())
            return StrictJSONError(refused.reason, line=line, column=column)
    return StrictJSONError(refused.reason)


def _place(text: str, start: int) -> tuple[int, int]:
    return text.count("\n", 0, start) + 1, start - (text.rfind("\n", 0, start) + 1) + 1


def hint_at_names(name: str, names: Sequence[str]) -> str:
    """Return how a sentence about a name that an object does not take goes on: with those it takes.

    `from` is near `from_unit`, since they share a word, and `adress` near `address`.
    """
    if not names:
        return "."
    parts = _words(name)
    alike = [candidate for candidate in names if parts & _words(candidate)]
    alike = alike[:2] or get_close_matches(name, names, 1, cutoff=0.75)
    return f". Do you mean {' or '.join(alike)}?" if alike else f"; there are: {', '.join(names)}."


def _words(name: str) -> set[str]:
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name[:100])
    return {word.lower() for word in re.findall(r"[^\W_]+", spaced)}
