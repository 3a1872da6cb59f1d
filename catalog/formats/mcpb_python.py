"""Python servers of MCP bundles: what their manifests start, and by which Python. Pure.

`python` bundles bring their libraries; `uv` bundles name them in a pyproject.toml. Both may start a
file or a module of their own, and nothing else.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from catalog.formats.entry import Entry
from catalog.formats.files import RefusedError

FOLDER = "${__dirname}"
PROJECT = "pyproject.toml"
LONGEST_PROJECT = 100_000  # bytes
_OWN_LIBRARIES = ("server/lib", "lib")
_MODULE = re.compile(r"[A-Za-z_]\w{0,99}(?:\.[A-Za-z_]\w{0,99}){0,9}")
_PYTHONS = ("python", "python3")
_UV_OPTIONS = ("--directory", "--project", "--python")
_MOST_REQUIREMENTS = 100


@dataclass(frozen=True, slots=True)
class Project:
    """Requirements of a pyproject.toml: its Python, and its libraries."""

    python: str = ""
    requirements: tuple[str, ...] = ()


def python_arguments(server: Entry, command: str, arguments: Sequence[str]) -> list[str]:
    """Return Python's arguments: a file of the bundle, or a module, and what follows it."""
    rest = list(arguments)
    if command == "uv":
        rest = _without_uv(rest)
    elif command not in _PYTHONS:
        _refuse_command(command)
    while rest and rest[0] in ("-u", "-B", "-I", "-E", "-s"):
        rest.pop(0)
    if rest[:1] == ["-m"] and len(rest) > 1 and _MODULE.fullmatch(rest[1]):
        return rest
    if not rest or rest[0].startswith("-") or not rest[0].endswith(".py"):
        raise RefusedError("starts no Python file of its own", "server.mcp_config.args")
    file = rest[0] if rest[0].startswith(FOLDER) else f"{FOLDER}/{rest[0]}"
    return [file, *rest[1:]]


def _without_uv(rest: list[str]) -> list[str]:
    """Return what `uv run` would start."""
    while rest[:1] and rest[0] in _UV_OPTIONS:
        del rest[:2]
    if rest[:1] != ["run"]:
        raise RefusedError("is not started by uv run", "server.mcp_config.args")
    rest.pop(0)
    while rest[:1] and rest[0] in (*_UV_OPTIONS, "--frozen", "--no-dev"):
        del rest[: 2 if rest[0] in _UV_OPTIONS else 1]
    return rest[1:] if rest[:1] and rest[0] in _PYTHONS else rest


def _refuse_command(command: str) -> None:
    if command in ("uvx", "pipx"):
        words = f"is started by {command}: add the package that it names instead"
        raise RefusedError(words, "server.mcp_config.command")
    raise RefusedError("is not started by Python", "server.mcp_config.command")


def library_paths(environment: Any) -> list[str]:
    """Return the folders that are searched for modules, within the bundle."""
    value = environment.get("PYTHONPATH") if isinstance(environment, dict) else None
    named = re.split(r"[:;]", value[:2_000]) if isinstance(value, str) else []
    own = [one.strip() for one in named if one.strip().startswith(FOLDER)]
    inside = [one.removeprefix(FOLDER).strip("/") for one in own]
    if any(part == ".." for one in inside for part in one.split("/")):
        raise RefusedError("has a path that leads outside", "server.mcp_config.env")
    return inside or list(_OWN_LIBRARIES)


def python_specifier(text: str) -> str:
    """Return the versions of Python that a manifest allows, such as `>=3.8,<4`; "" if it says none
    that can be read.
    """
    wanted = ",".join(re.split(r"[\s,]+", text.strip()))
    try:
        return str(SpecifierSet(wanted))
    except InvalidSpecifier:
        return ""


def read_project(text: str) -> Project:
    """Read a pyproject.toml. Raises RefusedError."""
    try:
        project = tomllib.loads(text).get("project", {})
    except (tomllib.TOMLDecodeError, RecursionError):
        raise RefusedError(f"has no usable {PROJECT}", PROJECT) from None
    listed = project.get("dependencies", []) if isinstance(project, dict) else None
    if not isinstance(listed, list) or len(listed) > _MOST_REQUIREMENTS:
        raise RefusedError(f"has no usable {PROJECT}", PROJECT)
    python = str(project.get("requires-python", ""))
    return Project(python_specifier(python), tuple(_requirement(one) for one in listed))


def _requirement(text: Any) -> str:
    try:
        found = Requirement(str(text)[:300])
    except InvalidRequirement:
        raise RefusedError("has a dependency that cannot be read", PROJECT) from None
    if found.url:
        raise RefusedError(f"takes {found.name[:100]} from an address, not from an index", PROJECT)
    return str(found)
