"""Reading of untrusted files: bounded size, inside the folder, regular files only.

JSON and YAML become plain values of bounded depth. Every failure is a RefusedError.
"""

import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import yaml

from acl.platform import strict_json

# Limits for reading sources, in bytes unless noted otherwise.

KB = 1024
MB = 1024 * KB


@dataclass(frozen=True, slots=True)
class Limits:
    """All limits for one source; a deployment may pass its own."""

    file: int = 5 * MB
    manifest: int = 16 * KB
    yaml: int = 1 * MB  # of catalogues and configurations, which list more than one thing
    yaml_events: int = 2_000
    yaml_depth: int = 20
    # A schema may be 32 deep; the envelope around it (an API page, a tools answer) needs more.
    json_depth: int = 64
    # In characters: the lengths of the catalogue's columns.
    name: int = 200
    short_name: int = 60
    secret_name: int = 120
    version: int = 80
    reason: int = 300
    address: int = 500
    argument: int = 500
    description: int = 8 * KB
    content: int = 256 * KB
    schema: int = 64 * KB
    schema_depth: int = 32
    schema_nodes: int = 2_000
    list_items: int = 200
    # For one server; catalogue files have their own limits below.
    tools_per_server: int = 1_000
    entries_per_file: int = 10_000
    catalog_file: int = 256 * MB
    catalog_line: int = 1 * MB
    catalog_lines: int = 100_000
    folder_depth: int = 12
    folder_files: int = 20_000
    # A file with a million defects must not fill the memory with reports.
    defects_per_file: int = 1_000


DEFAULT_LIMITS = Limits()


class RefusedError(Exception):
    """A file or one of its fields cannot be read; `reason` completes a sentence about `field`."""

    def __init__(self, reason: str, field: str = "file") -> None:
        super().__init__(reason)
        self.reason = reason
        self.field = field


def resolve_inside(path: Path, root: Path) -> Path:
    """Resolve a path, refusing symlinks and anything outside the root."""
    try:
        resolved = path.resolve(strict=True)
        resolved.relative_to(root.resolve(strict=True))
    except FileNotFoundError as error:
        raise RefusedError("does not exist") from error
    except ValueError as error:
        raise RefusedError("leads out of the folder") from error
    except (OSError, RuntimeError) as error:
        raise RefusedError(f"cannot be read: {type(error).__name__}") from error
    if path.is_symlink():
        raise RefusedError("is a symbolic link; only plain files are read")
    return resolved


def read_bytes(path: Path, root: Path, *, limit: int) -> bytes:
    """Read a whole regular file no larger than the limit."""
    with _open(path, root) as handle:
        size = os.fstat(handle.fileno()).st_size
        if size > limit:
            raise RefusedError(f"has {size:,} bytes; the limit is {limit:,}")
        # The file may have grown since fstat; one more byte shows it.
        content = handle.read(limit + 1)
    if len(content) > limit:
        raise RefusedError(f"has more than {limit:,} bytes")
    return content


def read_text(path: Path, root: Path, *, limit: int) -> str:
    """Read a file as UTF-8 text without its byte order mark."""
    return decode(read_bytes(path, root, limit=limit))


def read_lines(path: Path, root: Path, *, limits: Limits) -> Iterator[tuple[int, bytes | None]]:
    """Yield numbered lines of a large file one at a time; None stands for a line over the limit."""
    with _open(path, root) as handle:
        size = os.fstat(handle.fileno()).st_size
        if size > limits.catalog_file:
            raise RefusedError(f"has {size:,} bytes; the limit is {limits.catalog_file:,}")
        number = 0
        while line := handle.readline(limits.catalog_line + 1):
            number += 1
            complete = line.endswith(b"\n") or len(line) <= limits.catalog_line
            yield number, line if complete else None
            # Skip the rest of an overlong line without keeping it in memory.
            while not complete:
                rest = handle.readline(limits.catalog_line)
                complete = not rest or rest.endswith(b"\n")


def decode(content: bytes) -> str:
    """Decode UTF-8 bytes, or UTF-16 with its mark, as the shells of Windows write files."""
    try:
        if content.startswith((b"\xff\xfe", b"\xfe\xff")):
            return content.decode("utf-16")
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RefusedError(f"is not UTF-8 text (byte {error.start})") from error


def parse_json(text: str, *, max_depth: int) -> Any:
    """Parse JSON strictly, but keep NUL characters and half surrogate pairs.

    One bad entry must not reject a long document; `text_cleanup` removes these characters later.
    """
    try:
        return strict_json.parse_json(text, max_depth=max_depth, any_text=True)
    except strict_json.StrictJSONError as error:
        raise RefusedError(f"is not valid JSON: {error}") from error


def parse_yaml(text: str, *, limits: Limits) -> Any:
    """Parse YAML; unquoted scalars stay PlainScalar texts until a field asks for their type."""
    if len(text.encode("utf-8", "surrogatepass")) > limits.manifest:
        raise RefusedError(f"has more than {limits.manifest:,} bytes of YAML")
    try:
        _scan_yaml(text, limits)
        return yaml.load(text, Loader=_TextLoader)  # noqa: S506 - a safe loader that builds texts only
    except yaml.YAMLError as error:
        raise RefusedError(f"is not valid YAML: {_yaml_problem(error)}") from error
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"is not valid YAML: {error}") from error


class PlainScalar(str):
    """An unquoted YAML scalar: a text, or a number or flag for fields that want one."""

    __slots__ = ()


def resolve_types(value: Any) -> Any:
    """Resolve plain scalars as YAML 1.2 types: `no` and `1:30` stay texts, `2` is a number."""
    if isinstance(value, PlainScalar):
        if value in _YAML_CONSTANTS:
            return _YAML_CONSTANTS[value]
        if _INTEGER.fullmatch(value):
            return int(value)
        if _FLOAT.fullmatch(value):
            return float(value)
        return str(value)
    if isinstance(value, dict):
        return {str(key): resolve_types(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [resolve_types(inner) for inner in value]
    return value


def is_deeper(value: Any, limit: int) -> bool:
    """Return True if a value is nested deeper than the limit, checked without recursion."""
    waiting = [(value, 1)]
    while waiting:
        inner, depth = waiting.pop()
        if not isinstance(inner, (dict, list)):
            continue
        if depth > limit:
            return True
        parts = inner.values() if isinstance(inner, dict) else inner
        waiting.extend((part, depth + 1) for part in parts)
    return False


_YAML_CONSTANTS: dict[str, bool | None] = {
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
    "null": None, "Null": None, "NULL": None, "~": None, "": None,
}  # fmt: skip
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]{1,18}|[0-9]{1,18}(?:\.[0-9]{0,18})?)(?:[eE][-+]?[0-9]{1,2})?")


class _TextLoader(yaml.CSafeLoader):
    """A YAML loader for mappings, lists and texts only."""

    # Without resolvers every plain scalar is a str, so YAML 1.1 never turns `no` into False.
    yaml_implicit_resolvers: dict[str, Any] = {}

    def construct_scalar_text(self, node: yaml.ScalarNode) -> str:
        return str(node.value) if node.style else PlainScalar(node.value)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if len(keys) < len(node.value):
            raise RefusedError("is not valid YAML: a key is not a plain text")
        if len(set(keys)) < len(keys):
            [(repeated, _)] = Counter(keys).most_common(1)
            raise RefusedError(f"the key {repeated!r} occurs twice")
        return super().construct_mapping(node, deep=deep)


_TextLoader.add_constructor("tag:yaml.org,2002:str", _TextLoader.construct_scalar_text)


# Reject aliases (billion laughs), tags and depth on the event stream, before anything is built.
def _scan_yaml(text: str, limits: Limits) -> None:
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=yaml.CSafeLoader), start=1):
        if count > limits.yaml_events:
            raise RefusedError(f"has more than {limits.yaml_events:,} YAML elements")
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise RefusedError(f"uses a YAML alias or anchor ({_place(event)})")
        if getattr(event, "tag", None):
            raise RefusedError(f"uses a YAML tag ({_place(event)})")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > limits.yaml_depth:
            raise RefusedError(f"is nested more than {limits.yaml_depth} deep")


def _place(event: yaml.Event) -> str:
    return f"line {event.start_mark.line + 1}" if event.start_mark else "somewhere"


def _yaml_problem(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"{error.problem} (line {mark.line + 1}, column {mark.column + 1})"
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _open(path: Path, root: Path) -> BinaryIO:
    resolved = resolve_inside(path, root)
    try:
        # Without O_NONBLOCK, opening a pipe would wait for its writer for ever.
        descriptor = os.open(resolved, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise RefusedError(f"cannot be read: {os.strerror(error.errno or 0)}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise RefusedError("is not a regular file")
    return os.fdopen(descriptor, "rb")
