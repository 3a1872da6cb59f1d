"""uv as a package client: environments, resolutions to exact files, and what uv's errors mean."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import compatible_tags, cpython_tags, platform_tags
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from uv import find_uv_bin

from catalog.formats.package_names import Package
from marketplace.installs.packages.client import Watch, client_environment, has_index, run_client
from marketplace.installs.packages.folders import Artefact, PackageProblemError, Place

# Pythons of this machine: Pegboard's own, and each `python3.N` on its PATH that runs.

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


# Wheels of a resolution: which file of each version fits the Python that runs it. Pure.


def choose_wheels(resolution: str, python: tuple[int, int]) -> list[Artefact]:
    """Return the best wheel of each version that a resolution (pylock.toml) names."""
    try:
        packages = tomllib.loads(resolution).get("packages", [])
        platforms = list(platform_tags())
        tags = chain(
            cpython_tags(python, platforms=platforms),
            compatible_tags(python, f"cp{python[0]}{python[1]}", platforms),
        )
        ranks = {tag: rank for rank, tag in enumerate(tags)}
        return sorted(_choose(package, ranks) for package in packages)
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError):
        words = "The resolution of its dependencies cannot be read."
        raise PackageProblemError("package_failed", words) from None


def find_release(resolution: str, name: str) -> datetime | None:
    """Return when a package's first file was uploaded, if the index says so."""
    try:
        packages = tomllib.loads(resolution).get("packages", [])
        package = next(
            entry
            for entry in packages
            if canonicalize_name(entry["name"]) == canonicalize_name(name)
        )
        times = [entry["upload-time"] for entry in package["wheels"] if "upload-time" in entry]
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError, StopIteration):
        return None
    return min((entry for entry in times if isinstance(entry, datetime)), default=None)


def _choose(package: Mapping[str, Any], ranks: Mapping[Any, int]) -> Artefact:
    name, version = package["name"], package.get("version", "")
    if package.get("vcs") or package.get("directory") or package.get("archive") or not version:
        words = f"{name} comes from no index, so its origin could not be verified later."
        raise PackageProblemError("package_not_held", words)
    ranked = [
        (rank, wheel)
        for wheel in package.get("wheels", ())
        if (rank := _rank(wheel, ranks)) is not None
    ]
    if not ranked:
        words = f"{name} {version} has no ready-made file (wheel) for this machine."
        raise PackageProblemError("package_not_found", words)
    _, best = min(ranked, key=lambda pair: pair[0])
    return Artefact(name, version, f"sha256:{best['hashes']['sha256']}")


def _rank(wheel: Mapping[str, Any], ranks: Mapping[Any, int]) -> int | None:
    where = wheel.get("name") or wheel.get("path") or urlsplit(wheel["url"]).path
    try:
        _, _, _, tags = parse_wheel_filename(unquote(str(where).rpartition("/")[2]))
    except InvalidWheelFilename:
        return None
    return min((ranks[tag] for tag in tags if tag in ranks), default=None)


_LOCK = "pylock.toml"
_LONGEST_LOCK = 10_000_000
# uv names the Python that a package wants, among the reasons why nothing can be installed. Its
# releases say so in two ways.
_SPECIFIER = r"(?P<python>[<>=!~][\d.<>=!~*,]{1,60})"
_NAME = r"(?P<name>[\w.-]{1,200})(?:[<>=!~][\w.+!*,<>=~-]{0,100})?"
_WANTS_PYTHON = (
    re.compile(rf"{_NAME} requires? Python ?{_SPECIFIER}"),
    re.compile(
        rf"does not satisfy Python{_SPECIFIER} and (?:all versions of )?{_NAME} depends? on Python"
    ),
)


def make_environment(package: Package, place: Place, watch: Watch, specifier: str = "") -> None:
    """Make the environment of a Python that fits `specifier`, or else the command's, or our own."""
    program = _python(specifier or (f"=={package.python}.*" if package.python else ""))
    command = [program, "-I", "-m", "venv", "--without-pip", str(place.folder)]
    code, output = run_client(command, place, watch)
    if code:
        words = "Python cannot create virtual environments here. On Debian, install python3-venv."
        raise PackageProblemError("client_missing", words, output)


def _python(specifier: str) -> str:
    """Return the Python that a specifier names."""
    python = find_python(specifier)
    if python is None:
        raise _wants_python(specifier)
    return python


class WantsPythonError(PackageProblemError):
    """Raised where the package requires another Python than the one that it was tried with."""

    python = ""


def _wants_python(python: str, detail: str = "", needed: str = "") -> WantsPythonError:
    words = f"It requires Python {python}. This is {own_version()}."
    if needed:
        words = f"It needs {needed}, which requires Python {python}. This is {own_version()}."
    problem = WantsPythonError("client_missing", words, detail)
    problem.python = python
    return problem


def resolve(
    package: Package,
    place: Place,
    watch: Watch,
    requirements: Sequence[str],
    options: Sequence[str],
) -> list[Artefact]:
    """Return the files to install; nothing of them is fetched but what they require."""
    file, lock = write_file(place, "wanted.txt", requirements), place.scratch / _LOCK
    formats = ["--format", _LOCK, "--output-file", str(lock), "--no-header", "--upgrade", "--quiet"]
    run_uv(package, place, watch, ["compile", *formats, *options, file])
    return choose_wheels(read_lock(place), version_of(place))


def resolve_source(name: str, version: str, place: Place, watch: Watch) -> None:
    """Write a lock file that names the source archive of a version, or of the newest one.

    uv is told that it requires nothing, so that it need not be built to find out.
    """
    facts = f'name = "{normal_name(name)}"' + (f', version = "{version}"' if version else "")
    config_file = write_file(
        place, "uv.toml", [f"dependency-metadata = [{{{facts}, requires-dist = []}}]"]
    )
    file = write_file(place, "source.txt", [f"{name}=={version}" if version else name])
    formats = ["--format", _LOCK, "--output-file", str(place.scratch / _LOCK), "--no-header"]
    options = [
        "--no-deps",
        "--no-binary",
        ":all:",
        "--config-file",
        config_file,
        "--upgrade",
        "--quiet",
    ]
    run_uv(Package("pypi", name), place, watch, ["compile", *formats, *options, file], build=True)


def read_lock(place: Place) -> str:
    """Return the lock file that uv has written."""
    lock = place.scratch / _LOCK
    if lock.is_symlink() or lock.stat().st_size > _LONGEST_LOCK:
        raise PackageProblemError("package_failed", "The resolution is too long to be read.")
    return lock.read_text(encoding="utf-8")


def run_uv(
    package: Package,
    place: Place,
    watch: Watch,
    arguments: Sequence[str],
    *,
    build: bool = False,
) -> None:
    """Run `uv pip`. Raises PackageProblemError, with the reason that uv gave."""
    environment = client_environment(place, os.environ)
    # Only wheels: building a source package would run its code.
    uv_options = [*([] if build else ["--no-build"]), "--python", str(bin_of(place) / "python")]
    local = [*_own_links(place, environment), *([] if has_index(environment) else ["--no-index"])]
    code, output = run_client([find_uv(), "pip", *arguments, *uv_options, *local], place, watch)
    if code:
        raise _explain(package, output)


def _own_links(place: Place, environment: Mapping[str, str]) -> list[str]:
    """Return the options for wheels that were built here, beside the configured folders."""
    folder = wheels_folder(place)
    if not folder.is_dir():
        return []
    configured = filter(None, environment.get("UV_FIND_LINKS", "").split(","))
    return [part for location in (str(folder), *configured) for part in ("--find-links", location)]


def wheels_folder(place: Place) -> Path:
    """Return the folder of the wheels that were built for an installation, while it is made."""
    return place.scratch / "wheels"


def find_uv() -> str:
    """Return the path of uv. Raises PackageProblemError."""
    try:
        return find_uv_bin()
    except FileNotFoundError:
        words = "uv is not installed beside Pegboard."
        raise PackageProblemError("client_missing", words) from None


def version_of(place: Place) -> tuple[int, int]:
    """Return the version of the environment's Python."""
    minor = next(place.folder.glob("lib/python3.*")).name.removeprefix("python3.")
    return 3, int(minor)


def _explain(package: Package, output: str) -> PackageProblemError:
    pythons = find_required_pythons(output)
    if python := pythons.pop(normal_name(package.name), ""):
        return _wants_python(python, _errors(output))
    for name, python in sorted(pythons.items(), key=lambda item: find_python(item[1]) is None):
        return _wants_python(python, _errors(output), needed=name)
    for pattern, reason, words in _KNOWN_ERRORS:
        if pattern.search(output):
            return PackageProblemError(reason, words, _errors(output))
    return PackageProblemError("package_failed", "uv could not install it.", _errors(output))


def find_required_pythons(output: str) -> dict[str, str]:
    """Return the versions of Python that uv said packages require, by name; the first of each."""
    text, pythons = " ".join(output.split()), dict[str, str]()
    for pattern in _WANTS_PYTHON:
        for match in pattern.finditer(text):
            pythons.setdefault(normal_name(match["name"]), match["python"].strip(","))
    return pythons


def _errors(output: str) -> str:
    lines = output.splitlines()
    start = next((at for at, line in enumerate(lines) if line.startswith("error:")), -5)
    return "\n".join(lines[start:])


def normal_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def bin_of(place: Place) -> Path:
    return place.folder / "bin"


def write_file(place: Place, name: str, lines: Sequence[str]) -> str:
    path = place.scratch / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


_KNOWN_ERRORS = (
    (
        re.compile(r"(?i)hash mismatch"),
        "package_changed",
        "The index returned a different file for the same version, so Pegboard refused it.",
    ),
    (
        re.compile(
            r"(?i)failed to fetch|error sending request|connection refused|timed? ?out|dns error"
            r"|certificate|tunnel"
        ),
        "index_not_reachable",
        "The package index could not be reached. Try again, or ask your operator.",
    ),
    (
        re.compile(r"no usable wheels|no wheels with|building from source is disabled"),
        "package_not_found",
        "A dependency has no ready-made file (wheel) for this machine.",
    ),
    (
        re.compile(r"no versions? of|not found in|no matching"),
        "package_not_found",
        "There is no such version, or a dependency has no ready-made file (wheel) for this "
        "machine.",
    ),
    (
        re.compile(r"No solution found"),
        "package_conflict",
        "Its dependencies conflict with each other.",
    ),
)
