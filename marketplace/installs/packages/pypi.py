"""Packages from PyPI: one virtual environment each, filled by uv from wheels only.

Two steps: uv resolves names to exact files, and then installs these and no others. A repair has the
files already and does the second step only.
"""

import importlib.metadata
import os
import re
import shutil
from collections.abc import Sequence
from datetime import timedelta
from itertools import chain
from pathlib import Path

from uv import find_uv_bin

from catalog.formats.package_names import Package
from catalog.servers.client.package_digest import code_digest
from marketplace.installs.packages.package_client import Watch, client_environment, run_client
from marketplace.installs.packages.package_folders import Place
from marketplace.installs.packages.package_result import Artefact, Installed, PackageProblemError
from marketplace.installs.packages.pip_settings import has_index
from marketplace.installs.packages.python_versions import find_python, own_version
from marketplace.installs.packages.wheel_choice import choose_wheels, find_release

__all__ = [
    "find_definers",
    "find_newest_version",
    "find_required_python",
    "install",
    "read_modules",
    "read_requirements",
]
_LOCK = "pylock.toml"
_LONGEST_SOURCE = 500_000  # bytes
_LONGEST_LOCK = 10_000_000
# A release's files, and those of its companions, take a while to appear.
_AFTERWARDS = timedelta(hours=1)
_WITHOUT_WHEEL = re.compile(r"([\w.-]{1,200})==[\w.+!-]{1,100} has no usable wheels")
_MOST_EXEMPT = 5
# uv names the Python that the package itself wants, and then says why nothing can be installed.
_WANTS_PYTHON = re.compile(
    r"does not satisfy Python(?P<wanted>[<>=!~][\d.<>=!~*,]{1,60}) and (?P<name>[\w.-]{1,200})=="
)


def find_newest_version(package: Package, place: Place, watch: Watch) -> str:
    """Return the version that the index offers now, or ""."""
    _make_environment(package, place, watch)
    found = _resolve(package, place, watch, [package.name], ["--no-deps"])
    return next(iter(found), Artefact("", "", "")).version


def install(
    package: Package,
    place: Place,
    watch: Watch,
    *,
    constraints: Sequence[str] = (),
    held: Sequence[Artefact] = (),
    python: str = "",
) -> Installed:
    """Install the package with its dependencies. `held` pins the exact files for a Python."""
    if held:
        _make_environment(package, place, watch, python)
        artefacts = list(held)
    else:
        artefacts = _resolve_anywhere(package, place, watch, constraints)
    _fill(package, place, watch, artefacts)
    launch = (str(_bin(place) / "python"), "-I", "-B", _program(package, place))
    version = f"3.{_version_of(place)[1]}"
    return Installed((*launch, *package.arguments), tuple(artefacts), python=version)


def _resolve_anywhere(
    package: Package, place: Place, watch: Watch, constraints: Sequence[str]
) -> list[Artefact]:
    """Resolve for our own Python, or else for another one here that the package wants."""
    _make_environment(package, place, watch)
    try:
        return _resolve_whole(package, place, watch, constraints)
    except WantsPythonError as problem:
        if package.python or find_python(problem.python) is None:
            raise
        place.make()
        _make_environment(package, place, watch, problem.python)
        return _resolve_whole(package, place, watch, constraints)


def _resolve_whole(
    package: Package,
    place: Place,
    watch: Watch,
    constraints: Sequence[str],
    options: Sequence[str] = (),
) -> list[Artefact]:
    bounds = ["-c", _write_file(place, "constraints.txt", constraints)] if constraints else []
    wanted = [f"{package.name}{package.extras}=={package.version}"]
    return _resolve(package, place, watch, wanted, [*bounds, *options])


def compile_modules(place: Place, watch: Watch) -> str:
    """Compile the package's modules beside it, and return their digest; "" if that failed.

    It runs nothing of the package. What is not valid Python, such as a template, is left out.
    """
    if not (_bin(place) / "python").exists():
        return ""
    place.scratch.mkdir(mode=0o700, exist_ok=True)
    shutil.rmtree(place.compiled, ignore_errors=True)
    options = ["-I", "-X", f"pycache_prefix={place.compiled}", "-m", "compileall", "-q", "-q"]
    try:
        run_client(
            [str(_bin(place) / "python"), *options, *_site_packages(place)], place, watch, shown=()
        )
    finally:
        place.finish()
    return code_digest(place.compiled)


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


def _make_environment(package: Package, place: Place, watch: Watch, wanted: str = "") -> None:
    """Make the environment of a Python that fits `wanted`, or else the command's, or our own."""
    program = _python(wanted or (f"=={package.python}.*" if package.python else ""))
    command = [program, "-I", "-m", "venv", "--without-pip", str(place.folder)]
    code, output = run_client(command, place, watch)
    if code:
        words = "Python cannot create virtual environments here. On Debian, install python3-venv."
        raise PackageProblemError("client_missing", words, output)


def _python(wanted: str) -> str:
    """Return the Python that a specifier names."""
    found = find_python(wanted)
    if found is None:
        raise _wants_python(wanted)
    return found


class WantsPythonError(PackageProblemError):
    """Raised where the package requires another Python than the one that it was tried with."""

    python = ""


def _wants_python(python: str, detail: str = "") -> WantsPythonError:
    words = f"It requires Python {python}. This is {own_version()}."
    problem = WantsPythonError("client_missing", words, detail)
    problem.python = python
    return problem


def _resolve(
    package: Package, place: Place, watch: Watch, wanted: Sequence[str], options: Sequence[str]
) -> list[Artefact]:
    """Return the files to install; nothing of them is fetched but what they require."""
    file, lock = _write_file(place, "wanted.txt", wanted), place.scratch / _LOCK
    formats = ["--format", _LOCK, "--output-file", str(lock), "--no-header", "--upgrade", "--quiet"]
    _uv(package, place, watch, ["compile", *formats, *options, file])
    return choose_wheels(_read_lock(place), _version_of(place))


def _read_lock(place: Place) -> str:
    lock = place.scratch / _LOCK
    if lock.is_symlink() or lock.stat().st_size > _LONGEST_LOCK:
        raise PackageProblemError("package_failed", "The resolution is too long to be read.")
    return lock.read_text(encoding="utf-8")


def _fill(package: Package, place: Place, watch: Watch, artefacts: Sequence[Artefact]) -> None:
    """Install exactly these files."""
    lines = [f"{one.name}=={one.version} --hash={one.digest}" for one in artefacts]
    pinned = ["--require-hashes", "--no-deps", "-r", _write_file(place, "held.txt", lines)]
    _uv(package, place, watch, ["install", *pinned])


def _uv(package: Package, place: Place, watch: Watch, arguments: Sequence[str]) -> None:
    # Only wheels: building a source package would run its code.
    own = ["--no-build", "--python", str(_bin(place) / "python")]
    local = [] if has_index(client_environment(place, os.environ)) else ["--no-index"]
    code, output = run_client([find_uv(), "pip", *arguments, *own, *local], place, watch)
    if code:
        raise _explain(package, output)


def find_uv() -> str:
    """Return the path of uv. Raises PackageProblemError."""
    try:
        return find_uv_bin()
    except FileNotFoundError:
        words = "uv is not installed beside Pegboard."
        raise PackageProblemError("client_missing", words) from None


def _version_of(place: Place) -> tuple[int, int]:
    """Return the version of the environment's Python."""
    found = next(place.folder.glob("lib/python3.*")).name.removeprefix("python3.")
    return 3, int(found)


def _explain(package: Package, output: str) -> PackageProblemError:
    if python := find_required_python(package, output):
        return _wants_python(python, _errors(output))
    for pattern, reason, words in _KNOWN_ERRORS:
        if pattern.search(output):
            return PackageProblemError(reason, words, _errors(output))
    return PackageProblemError("package_failed", "uv could not install it.", _errors(output))


def can_resolve(package: Package, place: Place, watch: Watch, constraints: Sequence[str]) -> bool:
    """Return False if the package contradicts these bounds."""
    place.scratch.mkdir(mode=0o700, exist_ok=True)
    try:
        return bool(_resolve_whole(package, place, watch, constraints))
    except PackageProblemError as problem:
        return problem.code != "package_conflict"
    finally:
        place.finish()


def find_dated_bounds(package: Package, place: Place, watch: Watch) -> list[str]:
    """Return bounds to what existed when the package was released, or none.

    Many packages were written for the libraries of their day and do not say so. Only libraries
    that have another version today get a bound.
    """
    place.scratch.mkdir(mode=0o700, exist_ok=True)
    try:
        now = {one.name: one.version for one in _resolve_whole(package, place, watch, ())}
        released = find_release(_read_lock(place), package.name)
        if released is None:
            return []
        until = f"{released + _AFTERWARDS:%Y-%m-%dT%H:%M:%SZ}"
        then = _resolve_until(package, place, watch, until)
    except PackageProblemError:
        return []
    finally:
        place.finish()
    return [
        f"{one.name}<={one.version}"
        for one in then
        if now.get(one.name, one.version) != one.version
    ]


def _resolve_until(package: Package, place: Place, watch: Watch, until: str) -> list[Artefact]:
    """Resolve from what existed then, but for libraries that had no wheel yet."""
    exempt: list[str] = []
    while True:
        later = (("--exclude-newer-package", f"{name}=2999-01-01T00:00:00Z") for name in exempt)
        options = ["--exclude-newer", until, *chain.from_iterable(later)]
        try:
            return _resolve_whole(package, place, watch, (), options)
        except PackageProblemError as problem:
            without = set(_WITHOUT_WHEEL.findall(" ".join(str(problem).split()))) - {*exempt}
            if not without or len(exempt) >= _MOST_EXEMPT:
                raise
            exempt += sorted(without)


def find_required_python(package: Package, output: str) -> str:
    """Return the versions of Python that uv said the package requires, or ""."""
    found = _WANTS_PYTHON.finditer(" ".join(output.split()))
    own = (one["wanted"] for one in found if _normal(one["name"]) == _normal(package.name))
    return next(own, "").strip()


def _errors(output: str) -> str:
    lines = output.splitlines()
    begun = next((at for at, line in enumerate(lines) if line.startswith("error:")), -5)
    return "\n".join(lines[begun:])


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
        "A dependency has no ready-made file (wheel) for this machine. Pegboard builds no "
        "packages, since building one runs its code.",
    ),
    (
        re.compile(r"no versions? of|not found in|no matching"),
        "package_not_found",
        "There is no such version, or a dependency has no ready-made file (wheel) for this "
        "machine. Pegboard builds no packages, since building one runs its code.",
    ),
    (
        re.compile(r"No solution found"),
        "package_conflict",
        "Its dependencies conflict with each other.",
    ),
)
