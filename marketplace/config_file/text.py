"""Reading and writing the configuration file: YAML in, models out, each error with its place.

Anchors, tags and repeated keys are refused: they hide what a reviewer would have to see.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml
from pydantic import ValidationError

from marketplace.config_file._document import FORMAT, ConfigDocument

MOST_CHARACTERS = 20_000_000
DEEPEST = 12
MOST_PROBLEMS = 50
_HEAD = """\
# Pegboard's configuration: `manage.py export` writes it, `manage.py apply FILE` applies it.
# It has no secrets and no people. docs/configuration-as-code.md describes every field.
"""
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """An error in the file: its line (0 if it has none), its path, and the reason."""

    line: int
    path: str
    reason: str

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        return f"{place}{self.path}: {self.reason}" if self.path else f"{place}{self.reason}"


class ConfigurationRefused(Exception):
    """The file cannot be applied. Nothing was changed."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A valid document, with the line of each of its parts."""

    document: ConfigDocument
    lines: dict[Path, int]

    def line_of(self, path: Path) -> int:
        """Return the line of the path, or of the nearest part around it."""
        return line_of(self.lines, path)


def read_document(text: str) -> ReadDocument:
    """Read a file. Raises ConfigurationRefused."""
    lines: dict[Path, int] = {}
    value = _plain(_compose(text), (), lines)
    try:
        return ReadDocument(ConfigDocument.model_validate(value), lines)
    except ValidationError as invalid:
        problems = [
            Problem(line_of(lines, error["loc"]), written(error["loc"]), _reason(error))
            for error in invalid.errors(include_url=False)[:MOST_PROBLEMS]
        ]
        raise ConfigurationRefused(problems) from invalid


def write_document(value: dict[str, Any]) -> str:
    """Write a document as YAML. Equal documents give equal texts."""
    body: str = yaml.dump(
        {"pegboard": FORMAT, **value},
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        width=100,
    )
    return _HEAD + body


def written(path: Path) -> str:
    """Return a path as people write it: `groups[2].rules[0].tool`."""
    words = ""
    for step in path:
        words += f"[{step}]" if isinstance(step, int) else f".{step}" if words else step
    return words


def line_of(lines: dict[Path, int], path: Path) -> int:
    """Return the line of the path, or of the nearest part around it."""
    for length in range(len(path), -1, -1):
        if (line := lines.get(tuple(path[:length]))) is not None:
            return line
    return 0


class _Dumper(yaml.SafeDumper):
    """Writes no anchors, and indents lists."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _compose(text: str) -> yaml.Node:
    if len(text) > MOST_CHARACTERS:
        raise ConfigurationRefused([Problem(0, "", "the file is too long")])
    try:
        for problem in _scan(text):
            raise ConfigurationRefused([problem])
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        reason = f"is not valid YAML: {error.problem or error.context or 'unreadable'}"
        raise ConfigurationRefused([Problem(line, "", reason)]) from error
    except (yaml.YAMLError, UnicodeError) as error:
        raise ConfigurationRefused([Problem(0, "", "is not valid YAML")]) from error
    if node is None:
        raise ConfigurationRefused([Problem(0, "", "the file is empty")])
    return node


def _scan(text: str) -> Iterator[Problem]:
    """Look through the events before anything is built: nesting would exhaust the stack."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            yield Problem(line, "", "anchors and aliases are not used here: write it out")
        if getattr(event, "tag", None):
            yield Problem(line, "", "tags are not used here")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            yield Problem(line, "", "the file is nested too deeply")


def _plain(node: yaml.Node, path: Path, lines: dict[Path, int]) -> Any:
    """Convert a node to plain values, and note the line of each part."""
    lines[path] = node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        return [
            _plain(inner_node, (*path, place), lines) for place, inner_node in enumerate(node.value)
        ]
    if isinstance(node, yaml.MappingNode):
        values: dict[str, Any] = {}
        for key, inner in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise ConfigurationRefused(
                    [Problem(line, written(path), "has a key that is no word")]
                )
            name = str(key.value)
            if name in values:
                raise ConfigurationRefused(
                    [Problem(line, written((*path, name)), "is there twice")]
                )
            values[name] = _plain(inner, (*path, name), lines)
        return values
    text = str(node.value)
    if node.style:  # type: ignore[attr-defined]  # quoted, or a block
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    return int(text) if _NUMBER.fullmatch(text) else text


_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")
# YAML 1.2: `no`, `on` and `1:30` are words, as people mean them.
_CONSTANTS: dict[str, bool | None] = {
    "true": True,
    "false": False,
    "null": None,
    "~": None,
    "": None,
}


def _reason(error: Any) -> str:
    """Word an error of pydantic."""
    kind = error["type"]
    if kind == "extra_forbidden":
        return "is no field of the file"
    if kind == "missing":
        return "is missing"
    if kind == "value_error":
        return str(error["ctx"]["error"])
    message = str(error["msg"])
    return message[:1].lower() + message[1:]
