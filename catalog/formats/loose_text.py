"""Texts as people keep and paste them: JSON with comments, TOML or YAML, in a fence."""

import codecs
import json
import re
import textwrap
import tomllib
from contextlib import suppress
from dataclasses import replace
from typing import Any

from catalog.formats.files import (
    DEFAULT_LIMITS,
    Limits,
    RefusedError,
    is_deeper,
    parse_json,
    parse_yaml,
    resolve_types,
)

# Texts of other machines, in the charset that their content type names.

_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)


def charset_of(content_type: str) -> str:
    """Return the charset that a content type names, if Python has it; else UTF-8."""
    match = _CHARSET.search(content_type)
    try:
        return codecs.lookup(match.group(1)).name if match else "utf-8"
    except LookupError:
        return "utf-8"


def decode_text(body: bytes, content_type: str) -> str:
    """Return a body as text, in the charset that its type names."""
    charset = charset_of(content_type)
    try:
        return body.decode("utf-8-sig" if charset == "utf-8" else charset, errors="replace")
    except (UnicodeError, LookupError):  # a codec that is no charset, such as `zlib`
        return body.decode(errors="replace")


# Of texts that went through a word processor or a chat.
STRAIGHT_QUOTES = str.maketrans({"\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'"})
TOML = ".toml"
# A fence, and in it the text. Sources are untrusted, so the quantifiers are possessive.
_FENCE = re.compile(r"^[ \t]*+(`{3,}+|~{3,}+)[^\n`]*+\n(.*?)\n[ \t]*+\1", re.DOTALL | re.MULTILINE)
_STRING = r'"(?:[^"\\\n]++|\\.)*+"?+'
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*+|/\*.*?(?:\*/|\Z)|#[^\n]*+", re.DOTALL)
_LAST_COMMA = re.compile(rf"({_STRING})|,(?=\s*+[}}\]])")
_WINDOWS_PATH = re.compile(r'"[A-Za-z]:\\[^"\n]*+"')
_BACKSLASH = re.compile(r"(?<!\\)\\(?!\\)")
# What a README leaves out of an example: `{ ... }`, `"env": ...`, `...other fields...`.
_ELISION = re.compile(rf"({_STRING})|(:[ \t]*+)?(?:\.\.\.|…)[^\n{{}}\[\]\",:]*+,?")
_FRONT_MATTER = re.compile(r"\A---[ \t]*+\n(.*?)\n---[ \t]*+(?:\n|\Z)", re.DOTALL)
_TABLE = re.compile(r"^[ \t]*+\[\[?[A-Za-z_][^\]\n]*+\]\]?[ \t]*+(?:#[^\n]*+)?$", re.MULTILINE)
_DOTTED = re.compile(r"^[ \t]*+mcp_servers(?:\.[\w.\"-]++)?[ \t]*+=", re.MULTILINE)
_JSON_STARTS = ("{", "[", "//", "/*")
_KEY = re.compile(r"^[ \t]*+(?:- )?[\w.\"'@/-]++[ \t]*+:(?:\s|\Z)", re.MULTILINE)


def unwrap(text: str) -> str:
    """Return a text without byte order mark and blanks at its ends; of a fence, what is in it.

    An answer of a chat has words around its fence. Those of a configuration are its own.
    """
    text = text.replace("\x00", "").strip("\ufeff\u200b\u200e\u2060 \t\r\n").replace("\u00a0", " ")
    if not text.startswith((*_JSON_STARTS, "---")) and (fence := _FENCE.search(text)):
        return textwrap.dedent(fence.group(2)).strip()
    is_quoted = text[:1] == text[-1:] == "`" and "`" not in text[1:-1]
    return text[1:-1].strip() if is_quoted else text


def fenced_blocks(text: str) -> list[str]:
    """Return what is in each fence of a text that has words around them."""
    if text.lstrip("\ufeff \t\r\n").startswith((*_JSON_STARTS, "---")):
        return []
    return [textwrap.dedent(fence.group(2)).strip() for fence in _FENCE.finditer(text)]


def looks_structured(text: str) -> bool:
    """Return True for what seems to be JSON, TOML or YAML rather than a line."""
    lines = [line for line in text.splitlines() if line.strip("- \t") and not line.startswith("#")]
    is_yaml = ("\n" in text or "{" in text) and bool(lines) and bool(_KEY.match(lines[0]))
    return text.startswith(_JSON_STARTS) or text[0:1] == '"' or is_toml(text) or is_yaml


def is_toml(text: str) -> bool:
    """Return True for a text with the head of a table, which neither JSON nor YAML has.

    So is one with a server's key in front of `=`, which needs no table.
    """
    is_braced = text.startswith(("{", "//", "/*"))
    return not is_braced and bool(_TABLE.search(text) or _DOTTED.search(text))


def parse_loose(text: str, *, limits: Limits, suffix: str = "") -> Any:
    """Parse JSON with or without comments, TOML, or YAML."""
    if suffix == TOML or (not suffix and is_toml(text)):
        try:
            value = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise RefusedError(f"is not valid TOML: {error}") from error
        if is_deeper(value, limits.json_depth):
            raise RefusedError(f"is nested more than {limits.json_depth} deep")
        return value
    if suffix.startswith(".json") or text.lstrip().startswith(_JSON_STARTS):
        return parse_json_with_comments(text, max_depth=limits.json_depth)
    # The settings of an agent stand above its instructions.
    text = front.group(1) if (front := _FRONT_MATTER.match(text)) else text
    # Catalogues list the tools of their servers, and are longer than the manifest of one.
    more = replace(limits, manifest=limits.yaml, yaml_events=limits.yaml_events * 25)
    return parse_yaml(text, limits=more)


def parse_json_with_comments(text: str, *, max_depth: int) -> Any:
    """Parse JSON; where it is none, once more without comments, last commas and elisions.

    Lines and columns stay what they are, so that a reason names the right place. What is still no
    JSON may be an object of JavaScript or Python, whose keys and quotes are those of YAML.
    """
    try:
        return parse_json(text, max_depth=max_depth)
    except RefusedError:
        straight = text.translate(STRAIGHT_QUOTES)
        # A path whose backslashes stand alone, as it is copied from a window.
        straight = _WINDOWS_PATH.sub(lambda path: _BACKSLASH.sub(r"\\\\", path.group()), straight)
        if straight != text:
            with suppress(RefusedError):
                return parse_json(straight, max_depth=max_depth)
        plain = _ELISION.sub(_without_elision, _COMMENT.sub(_blank, text))
        plain = _LAST_COMMA.sub(lambda match: match.group(1) or " ", plain)
    try:
        return parse_json(plain, max_depth=max_depth)
    except RefusedError as refused:
        try:
            value = json.loads(plain, object_pairs_hook=_join_repeated)
        except _RepeatedError:
            raise refused from None
        except (ValueError, RecursionError):
            value = _parse_as_yaml(plain)
        if not isinstance(value, (dict, list)) or is_deeper(value, max_depth):
            raise
        return parse_json(json.dumps(value), max_depth=max_depth)


class _RepeatedError(Exception):
    """A key stands there twice, and which one counts is not clear."""


def _join_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object, in which a plain value such as `false` may stand twice."""
    joined: dict[str, Any] = {}
    for key, value in pairs:
        is_plain = not isinstance(value, (dict, list))
        if key in joined and not (is_plain and joined[key] == value):
            raise _RepeatedError
        joined[key] = value
    return joined


def _parse_as_yaml(text: str) -> Any:
    """Return the value of a text in braces as YAML has it; None where it is none."""
    try:
        return resolve_types(parse_yaml(text.replace("\t", " "), limits=DEFAULT_LIMITS))
    except RefusedError:
        return None


def find_line(text: str, at: str) -> int:
    """Return the line of a field, such as `servers.clock.args[2]`; 0 where it is not found.

    Each part is looked for behind the one before it, as a key is written in JSON, TOML and YAML.
    """
    place, line = 0, 0
    for part in re.split(r"\.|(?=\[)", at):
        if not part or part.startswith("["):
            continue
        start = text.find(part, place)
        while start >= 0 and not _is_key(text, start, start + len(part)):
            start = text.find(part, start + len(part))
        if start < 0:
            break
        place, line = start + len(part), text.count("\n", 0, start) + 1
    return line


def _is_key(text: str, start: int, end: int) -> bool:
    """Return True if a whole word stands there that a sign or the end of the line follows."""
    before, after = text[max(0, start - 1) : start], text[end : end + 60].lstrip("\"'")
    if before.isalnum() or before in ("_", "-"):
        return False
    return after[:1] in ("", "\n") or after.lstrip()[:1] in tuple(":=].")


def _without_elision(match: re.Match[str]) -> str:
    """Return null for a value that is left out, and blanks for anything else."""
    if match.group(1):
        return match.group(1)
    text = match.group()
    return f"{match.group(2)}null{',' * text.endswith(',')}" if match.group(2) else " " * len(text)


def _blank(match: re.Match[str]) -> str:
    text = match.group()
    return text if text.startswith('"') else re.sub(r"[^\n]", " ", text)
