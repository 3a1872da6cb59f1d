"""Packages from PyPI: one virtual environment each, filled by pip from wheels only."""

import importlib.metadata
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from catalog.formats.package_names import Package
from marketplace.installs.packages.package_client import Watch, run_client
from marketplace.installs.packages.package_folders import Place
from marketplace.installs.packages.package_result import (
    Artefact,
    Installed,
    PackageProblemError,
    read_json,
)

__all__ = [
    "find_definers",
    "find_newest_version",
    "find_required_python",
    "install",
    "read_modules",
    "read_requirements",
]
_REPORT = "report.json"
_LONGEST_SOURCE = 500_000  # bytes
# pip names versions for other Pythons, and then says of which package it has found none.
_IGNORED = re.compile(r"(?<=[:;] )([\w.!+-]{1,80}) Requires-Python ([^;\n]{1,80})")
_NOT_FOUND = re.compile(r"No matching distribution found for ([\w.-]{1,200})==")


def find_newest_version(package: Package, place: Place, watch: Watch) -> str:
    """Return the version that the index offers now, or ""."""
    _make_environment(package, place, watch)
    _pip(package, place, watch, ["--dry-run", "--no-deps", package.name])
    return next(iter(_artefacts(place)), Artefact("", "", "")).version


def install(
    package: Package,
    place: Place,
    watch: Watch,
    *,
    constraints: Sequence[str] = (),
    held: Sequence[Artefact] = (),
) -> Installed:
    """Install the package with its dependencies. `held` pins the exact files."""
    _make_environment(package, place, watch)
    if held:
        lines = [f"{one.name}=={one.version} --hash={one.digest}" for one in held]
        wanted = ["--require-hashes", "--no-deps", "-r", _write_file(place, "held.txt", lines)]
    else:
        wanted = [f"{package.name}{package.extras}=={package.version}"]
        if constraints:
            wanted += ["-c", _write_file(place, "constraints.txt", constraints)]
    _pip(package, place, watch, wanted)
    artefacts = _artefacts(place)
    launch = (str(_bin(place) / "python"), "-I", "-B", _program(package, place))
    return Installed((*launch, *package.arguments), tuple(artefacts))


def read_requirements(package: Package, place: Place) -> list[str]:
    """Return the package's declared requirements."""
    own = _distribution(package, place)
    return list(own.requires or ()) if own else []


def read_modules(place: Place) -> dict[str, set[str]]:
    """Return the distributions that contain each top-level module."""
    found: dict[str, set[str]] = {}
    for one in importlib.metadata.distributions(path=_site_packages(place)):
        for path in one.files or ():
            if path.suffix == ".py":
                found.setdefault(path.parts[0].removesuffix(".py"), set()).add(one.metadata["Name"])
    return found


def find_definers(place: Place, name: str) -> set[str]:
    """Return the distributions with a class of that name."""
    wanted = re.compile(rf"^class {re.escape(name)}\b", re.MULTILINE)
    return {
        str(one.metadata["Name"])
        for one in importlib.metadata.distributions(path=_site_packages(place))
        for path in one.files or ()
        if path.suffix == ".py" and wanted.search(_read_source(Path(str(path.locate()))))
    }


def _read_source(path: Path) -> str:
    """Return the text of a file of someone else's; "" if it is none, or no reasonable one."""
    try:
        if not path.is_file() or path.is_symlink() or path.stat().st_size > _LONGEST_SOURCE:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _make_environment(package: Package, place: Place, watch: Watch) -> None:
    code, output = run_client(
        [_python(package), "-I", "-m", "venv", "--without-pip", str(place.folder)], place, watch
    )
    if code:
        words = "Python cannot create virtual environments here. On Debian, install python3-venv."
        raise PackageProblemError("client_missing", words, output)


def _python(package: Package) -> str:
    """Return the worker's own Python, or the version that the command asks for."""
    own = _own_python()
    if package.python in ("", own):
        return sys.executable
    found = shutil.which(f"python{package.python}")
    if found is None:
        words = f"It requires Python {package.python}, which is not installed here. This is {own}."
        raise PackageProblemError("client_missing", words)
    return found


def _own_python() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _pip(package: Package, place: Place, watch: Watch, wanted: Sequence[str]) -> None:
    # Only wheels: building a source package would run its code. No file of ours affects the choice.
    command = [
        sys.executable, "-I", "-m", "pip", "--python", str(_bin(place) / "python"), "install",
        "--only-binary", ":all:", "--no-input", "--progress-bar", "off",
        "--report", str(place.scratch / _REPORT), *wanted,
    ]  # fmt: skip
    code, output = run_client(command, place, watch)
    if code:
        raise _explain(package, output)


def _explain(package: Package, output: str) -> PackageProblemError:
    if python := find_required_python(package, output):
        words = f"It requires Python {python}. This is {_own_python()}."
        return PackageProblemError("client_missing", words, _errors(output))
    for pattern, reason, words in _KNOWN_ERRORS:
        if pattern.search(output):
            return PackageProblemError(reason, words, _errors(output))
    return PackageProblemError("package_failed", "pip could not install it.", _errors(output))


def find_required_python(package: Package, output: str) -> str:
    """Return the versions of Python that pip said the package requires, or ""."""
    if package.name not in _NOT_FOUND.findall(output):
        return ""
    ignored = (python for version, python in _IGNORED.findall(output) if version == package.version)
    return next(ignored, "").strip()


def _errors(output: str) -> str:
    lines = [line for line in output.splitlines() if line.startswith("ERROR:")]
    return "\n".join(lines or output.splitlines()[-5:])


def _artefacts(place: Place) -> list[Artefact]:
    report = read_json((place.scratch / _REPORT).read_text(encoding="utf-8"), "pip's report")
    return sorted(_artefact(one) for one in report["install"])


def _artefact(entry: Mapping[str, Any]) -> Artefact:
    about, source = entry["metadata"], entry["download_info"]
    digest = (source.get("archive_info") or {}).get("hashes", {}).get("sha256", "")
    if not digest:
        words = f"{about['name']} comes from no index, so its origin could not be verified later."
        raise PackageProblemError("package_not_held", words)
    return Artefact(about["name"], about["version"], f"sha256:{digest}")


def _program(package: Package, place: Place) -> str:
    """Return the script that starts the package."""
    own = _distribution(package, place)
    scripts = [
        point.name
        for point in (own.entry_points if own else ())
        if point.group == "console_scripts"
    ]
    wanted = package.program or package.name
    if wanted not in scripts and not package.program and len(scripts) == 1:
        wanted = scripts[0]
    path = _bin(place) / wanted
    if not path.is_file():
        has = f"It has {', '.join(sorted(scripts)[:10])}." if scripts else "It has no programs."
        raise PackageProblemError("no_program", f"The package has no program {wanted!r}. {has}")
    return str(path)


def _distribution(package: Package, place: Place) -> importlib.metadata.Distribution | None:
    for one in importlib.metadata.distributions(path=_site_packages(place)):
        if _normal(one.metadata["Name"]) == _normal(package.name):
            return one
    return None


def _site_packages(place: Place) -> list[str]:
    return [str(path) for path in place.folder.glob("lib/python3.*/site-packages")]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _bin(place: Place) -> Path:
    return place.folder / "bin"


def _write_file(place: Place, name: str, lines: Sequence[str]) -> str:
    path = place.scratch / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


_KNOWN_ERRORS = (
    (
        re.compile(r"DO NOT MATCH THE HASHES"),
        "package_changed",
        "The index returned a different file for the same version, so Pegboard refused it.",
    ),
    (
        re.compile(r"ResolutionImpossible|conflicting dependencies"),
        "package_conflict",
        "Its dependencies conflict with each other.",
    ),
    (
        re.compile(
            r"(?i)connection(?:error| refused| broken)|timed? ?out|name resolution|SSLError"
            r"|ProxyError"
        ),
        "index_not_reachable",
        "The package index could not be reached. Try again, or ask your operator.",
    ),
    (
        re.compile(r"No matching distribution|Could not find a version"),
        "package_not_found",
        "There is no such version, or a dependency has no ready-made file (wheel) for this "
        "machine. Pegboard builds no packages, since building one runs its code.",
    ),
    (
        re.compile(r"No module named pip"),
        "client_missing",
        "pip is not installed beside Pegboard. Debian has it in the package python3-pip.",
    ),
)
