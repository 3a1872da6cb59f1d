"""Packages named by launch commands: `uvx NAME==VERSION …`, `npx -y NAME@VERSION …`, and
`mcpb ADDRESS#sha256:DIGEST …` for bundles.

Pegboard only parses these commands. It installs the package itself and starts the installed
program.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Literal

Index = Literal["pypi", "npm", "mcpb"]
LAUNCHERS: dict[str, Index] = {"uvx": "pypi", "npx": "npm", "mcpb": "mcpb"}
_VERSION = {"pypi": r"\d[\w.!+-]*", "npm": r"\d+\.\d+\.\d+(?:[-+][\w.+-]+)?"}
_NAME = {
    "pypi": r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?",
    "npm": r"(?:@[a-z0-9][\w.-]*/)?[a-z0-9][\w.-]*",
}
_PYPI = re.compile(rf"({_NAME['pypi']})(\[[\w, -]+\])?(?:(?:==|@)({_VERSION['pypi']}|latest))?")
_NPM = re.compile(rf"({_NAME['npm']})()(?:@({_VERSION['npm']}|latest))?", re.IGNORECASE)
_BUNDLE = re.compile(r"(https?://[^\s#]{1,480})()#sha256:([0-9a-f]{64})")
_PATTERNS = {"pypi": _PYPI, "npm": _NPM, "mcpb": _BUNDLE}
_PROGRAM = re.compile(r"[A-Za-z0-9][\w.-]*")
_PYTHON = re.compile(r"3\.\d{1,2}")
# Packages at an address, of a repository, or in a folder.
_ELSEWHERE = re.compile(r"\.{0,2}/|[\w+]+:|~|@?[\w.-]+/[\w.-]+(?:#|$)|.*\.(?:whl|tgz|tar\.gz)$|\.$")
_OF_INDEX = re.compile(r"-i|--(?:default-|extra-)?index(?:-url)?|--find-links|--registry")
_BOUND = rf"(?:==|!=|<=|>=|<|>|~=){_VERSION['pypi']}"
_CONSTRAINT = re.compile(rf"{_NAME['pypi']}{_BOUND}(?:,{_BOUND})*")
# With a bound: what is installed beside a package is told as exactly as that is.
_COMPANION = re.compile(rf"{_NAME['pypi']}(?:\[[\w, -]+\])?{_BOUND}(?:,{_BOUND})*")


class NotAPackageError(ValueError):
    """A launcher's arguments do not name exactly one package of an index."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package of an index, its program and arguments, and packages that are installed with it.

    A package without a version can be looked up but not installed.
    """

    index: Index
    name: str
    version: str = ""
    extras: str = ""
    program: str = ""
    python: str = ""
    companions: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()

    def at(self, version: str) -> "Package":
        """Return the same package at another version."""
        return replace(self, version=version)

    def command(self) -> tuple[str, ...]:
        """Return the launch command, as admins write and confirm it."""
        if self.index == "npm":
            whole = f"{self.name}@{self.version}" if self.version else self.name
            first = ("--package", whole, self.program) if self.program else (whole,)
            return ("npx", "-y", *first, *self.arguments)
        if self.index == "mcpb":
            return ("mcpb", f"{self.name}#sha256:{self.version}", *self.arguments)
        whole = f"{self.name}{self.extras}" + (f"=={self.version}" if self.version else "")
        first = ("--from", whole, self.program) if self.program else (whole,)
        python = ("--python", self.python) if self.python else ()
        companions = (word for name in self.companions for word in ("--with", name))
        return ("uvx", *python, *companions, *first, *self.arguments)


def parse_package(command: Sequence[str]) -> Package | None:
    """Parse the package a command names, with or without a version.

    Return None if the program is no package launcher. Raise NotAPackageError if its arguments are
    not understood.
    """
    index = LAUNCHERS.get(PurePath(command[0]).name) if command else None
    if index is None:
        return None
    if index == "npm":
        return _parse_npx(list(command[1:]))
    if index == "mcpb":
        return _parse_package("mcpb", "mcpb", "", list(command[1:]))
    return _parse_uvx(list(command[1:]))


def check_constraint(text: str) -> str:
    """Return a version constraint such as `name<2`, or raise NotAPackageError."""
    if len(text) > 200 or not _CONSTRAINT.fullmatch(text):
        raise NotAPackageError(f"{text[:100]!r} is not a version bound such as name<2.")
    return text


def _parse_npx(rest: list[str]) -> Package:
    package_text = ""
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in ("-p", "--package") and rest:
            package_text = rest.pop(0)
        elif option.startswith("--package="):
            package_text = option.removeprefix("--package=")
        elif option not in ("-y", "--yes"):
            raise NotAPackageError(_refusal("npx", option))
    return _parse_package("npm", "npx", package_text, rest)


def _parse_uvx(rest: list[str]) -> Package:
    package_text = python = ""
    companions: list[str] = []
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "--from" and rest:
            package_text = rest.pop(0)
        elif option == "--python" and rest and _PYTHON.fullmatch(rest[0]):
            python = rest.pop(0)
        elif option == "--with" and rest and _COMPANION.fullmatch(rest[0]):
            companions.append(rest.pop(0))
        else:
            raise NotAPackageError(_refusal("uvx", option))
    package = _parse_package("pypi", "uvx", package_text, rest)
    return replace(package, python=python, companions=tuple(companions))


def _refusal(launcher: str, option: str) -> str:
    if _OF_INDEX.fullmatch(option.partition("=")[0]):
        return (
            f"{launcher} must not be given {option[:100]!r}. Which index counts is a setting of "
            "the operator's: PIP_INDEX_URL for PyPI, NPM_CONFIG_REGISTRY for npm."
        )
    needs = ", but for a package with a version or a bound: mcp<2" if option == "--with" else ""
    return f"{launcher} must not be given {option[:100]!r}{needs}."


def _parse_package(index: Index, launcher: str, package_text: str, rest: list[str]) -> Package:
    if not rest or (package_text and not _PROGRAM.fullmatch(rest[0])):
        raise NotAPackageError(f"{launcher} needs a package.")
    first = rest.pop(0)
    match = _PATTERNS[index].fullmatch(package_text or first)
    if match is None:
        text = (package_text or first)[:100]
        if index != "mcpb" and _ELSEWHERE.match(text):
            raise NotAPackageError(
                f"{text!r} is no package of PyPI or npm, and only those are installed. Add its "
                "container image, or its address where it runs elsewhere."
            )
        raise NotAPackageError(f"{text!r} is not a package with an exact version.")
    name, extras, version = match.groups()
    version = "" if version in (None, "latest") else version
    program = first if package_text else ""
    return Package(index, name, version, extras or "", program, arguments=tuple(rest))
