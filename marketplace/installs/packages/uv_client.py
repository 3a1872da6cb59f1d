"""uv as a package client: environments, resolutions to exact files, and what uv's errors mean."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from uv import find_uv_bin

from catalog.formats.package_names import Package
from marketplace.installs.packages.package_client import Watch, client_environment, run_client
from marketplace.installs.packages.package_folders import Place
from marketplace.installs.packages.package_result import Artefact, PackageProblemError
from marketplace.installs.packages.pip_settings import has_index
from marketplace.installs.packages.python_versions import find_python, own_version
from marketplace.installs.packages.wheel_choice import choose_wheels

_LOCK = "pylock.toml"
_LONGEST_LOCK = 10_000_000
# uv names the Python that the package itself wants, and then says why nothing can be installed.
_WANTS_PYTHON = re.compile(
    r"does not satisfy Python(?P<wanted>[<>=!~][\d.<>=!~*,]{1,60}) and (?P<name>[\w.-]{1,200})=="
)


def make_environment(package: Package, place: Place, watch: Watch, wanted: str = "") -> None:
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


def resolve(
    package: Package, place: Place, watch: Watch, wanted: Sequence[str], options: Sequence[str]
) -> list[Artefact]:
    """Return the files to install; nothing of them is fetched but what they require."""
    file, lock = write_file(place, "wanted.txt", wanted), place.scratch / _LOCK
    formats = ["--format", _LOCK, "--output-file", str(lock), "--no-header", "--upgrade", "--quiet"]
    run_uv(package, place, watch, ["compile", *formats, *options, file])
    return choose_wheels(read_lock(place), version_of(place))


def resolve_source(name: str, version: str, place: Place, watch: Watch) -> None:
    """Write a lock file that names the source archive of a version, or of the newest one.

    uv is told that it requires nothing, so that it need not be built to find out.
    """
    known = f'name = "{normal_name(name)}"' + (f', version = "{version}"' if version else "")
    told = write_file(
        place, "uv.toml", [f"dependency-metadata = [{{{known}, requires-dist = []}}]"]
    )
    file = write_file(place, "source.txt", [f"{name}=={version}" if version else name])
    formats = ["--format", _LOCK, "--output-file", str(place.scratch / _LOCK), "--no-header"]
    options = ["--no-deps", "--no-binary", ":all:", "--config-file", told, "--upgrade", "--quiet"]
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
    own = [*([] if build else ["--no-build"]), "--python", str(bin_of(place) / "python")]
    local = [*_own_links(place, environment), *([] if has_index(environment) else ["--no-index"])]
    code, output = run_client([find_uv(), "pip", *arguments, *own, *local], place, watch)
    if code:
        raise _explain(package, output)


def _own_links(place: Place, environment: Mapping[str, str]) -> list[str]:
    """Return the options for wheels that were built here, beside the configured folders."""
    folder = wheels_folder(place)
    if not folder.is_dir():
        return []
    configured = filter(None, environment.get("UV_FIND_LINKS", "").split(","))
    return [part for one in (str(folder), *configured) for part in ("--find-links", one)]


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
    found = next(place.folder.glob("lib/python3.*")).name.removeprefix("python3.")
    return 3, int(found)


def _explain(package: Package, output: str) -> PackageProblemError:
    if python := find_required_python(package, output):
        return _wants_python(python, _errors(output))
    for pattern, reason, words in _KNOWN_ERRORS:
        if pattern.search(output):
            return PackageProblemError(reason, words, _errors(output))
    return PackageProblemError("package_failed", "uv could not install it.", _errors(output))


def find_required_python(package: Package, output: str) -> str:
    """Return the versions of Python that uv said the package requires, or ""."""
    found = _WANTS_PYTHON.finditer(" ".join(output.split()))
    own = (one["wanted"] for one in found if normal_name(one["name"]) == normal_name(package.name))
    return next(own, "").strip()


def _errors(output: str) -> str:
    lines = output.splitlines()
    begun = next((at for at, line in enumerate(lines) if line.startswith("error:")), -5)
    return "\n".join(lines[begun:])


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
