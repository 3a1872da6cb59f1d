"""Texts as people keep and paste them: JSON with comments, TOML or YAML, in a fence."""

import codecs
import re
import tomllib
from dataclasses import replace
from typing import Any

from catalog.formats.files import Limits, RefusedError, is_deeper, parse_json, parse_yaml

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


TOML = ".toml"
# A fence, and in it the text. Sources are untrusted, so the quantifiers are possessive.
_FENCE = re.compile(r"\A(`{3,}+|~{3,}+)[^\n`]*+\n(.*?)\n[ \t]*+\1", re.DOTALL)
_STRING = r'"(?:[^"\\\n]++|\\.)*+"?+'
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*+|/\*.*?(?:\*/|\Z)|#[^\n]*+", re.DOTALL)
_LAST_COMMA = re.compile(rf"({_STRING})|,(?=\s*+[}}\]])")
_TABLE = re.compile(r"^[ \t]*+\[\[?[A-Za-z_][^\]\n]*+\]\]?[ \t]*+(?:#[^\n]*+)?$", re.MULTILINE)
_JSON_STARTS = ("{", "[", "//", "/*")
_KEY = re.compile(r"^[ \t]*+(?:- )?[\w.\"'@/-]++[ \t]*+:(?:\s|\Z)", re.MULTILINE)


def unwrap(text: str) -> str:
    """Return a text without byte order mark, blanks at its ends, and the fence around it."""
    text = text.replace("\x00", "").strip("\ufeff \t\r\n")
    if fence := _FENCE.match(text):
        return fence.group(2).strip()
    is_quoted = text[:1] == text[-1:] == "`" and "`" not in text[1:-1]
    return text[1:-1].strip() if is_quoted else text


def looks_structured(text: str) -> bool:
    """Return True for what seems to be JSON, TOML or YAML rather than a line."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    is_yaml = "\n" in text and bool(lines) and _KEY.match(lines[0]) is not None
    return text.startswith(_JSON_STARTS) or text[0:1] == '"' or is_toml(text) or is_yaml


def is_toml(text: str) -> bool:
    """Return True for a text with the head of a table, which neither JSON nor YAML has."""
    return not text.startswith(("{", "//", "/*")) and _TABLE.search(text) is not None


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
    # Catalogues list the tools of their servers, and are longer than the manifest of one.
    more = replace(limits, manifest=limits.yaml, yaml_events=limits.yaml_events * 25)
    return parse_yaml(text, limits=more)


def parse_json_with_comments(text: str, *, max_depth: int) -> Any:
    """Parse JSON; where it is none, once more without comments and last commas.

    Lines and columns stay what they are, so that a reason names the right place.
    """
    try:
        return parse_json(text, max_depth=max_depth)
    except RefusedError:
        plain = _LAST_COMMA.sub(lambda match: match.group(1) or " ", _COMMENT.sub(_blank, text))
        return parse_json(plain, max_depth=max_depth)


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


def _blank(match: re.Match[str]) -> str:
    text = match.group()
    return text if text.startswith('"') else re.sub(r"[^\n]", " ", text)
