"""Pythons of this machine: Pegboard's own, and each `python3.N` on its PATH that runs."""

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from packaging.specifiers import InvalidSpecifier, SpecifierSet

_MINORS = range(8, 25)
_SECONDS = 10
_ASK = "import sys; print(*sys.version_info[:3], sys.executable)"


def own_version() -> str:
    """Return the version of Pegboard's own Python, such as 3.11."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def find_python(specifier: str) -> str | None:
    """Return the oldest Python here that a specifier such as `>=3.12` allows; our own comes first.

    The oldest, because a package's dependencies may have no wheels for the newest yet.
    """
    try:
        allowed = SpecifierSet(specifier)
    except InvalidSpecifier:
        return None
    version_here = ".".join(map(str, sys.version_info[:3]))
    if allowed.contains(version_here):
        return sys.executable
    others = (_find(minor) for minor in _MINORS)
    return next((path for version, path in filter(None, others) if allowed.contains(version)), None)


def _find(minor: int) -> tuple[str, str] | None:
    program = shutil.which(f"python3.{minor}")
    return _ask(program) if program else None


@cache
def _ask(program: str) -> tuple[str, str] | None:
    """Return a Python's version and real path; it may be a shim, which a cell does not show."""
    try:
        done = subprocess.run(  # noqa: S603 - the operator's own program
            [program, "-I", "-c", _ASK],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        )
        major, minor, micro, path = done.stdout.strip().split(" ", 3)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return (f"{major}.{minor}.{micro}", path) if Path(path).is_file() else None
