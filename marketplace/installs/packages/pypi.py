"""Packages from PyPI: one virtual environment each, filled by uv from wheels only.

Two steps: uv resolves names to exact files, and then installs these and no others. A repair has the
files already and does the second step only. Of what exists as source only, a wheel is built before.
"""

import importlib.metadata
import re
import shutil
from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import chain
from pathlib import Path

from catalog.formats.package_names import Package
from catalog.servers.client.launch_rules import code_digest
from marketplace.installs.packages._source_wheels import SourceWheels
from marketplace.installs.packages._uv_client import (
    WantsPythonError,
    bin_of,
    find_python,
    find_release,
    find_required_pythons,
    make_environment,
    normal_name,
    read_lock,
    resolve,
    run_uv,
    version_of,
    write_file,
)
from marketplace.installs.packages.client import Watch, run_client
from marketplace.installs.packages.folders import Artefact, Installed, PackageProblemError, Place

__all__ = [
    "find_definers",
    "find_newest_version",
    "find_required_pythons",
    "install",
    "install_requirements",
    "read_modules",
    "read_requirements",
]
_LONGEST_SOURCE = 500_000  # bytes
# A release's files, and those of its companions, take a while to appear.
_AFTERWARDS = timedelta(hours=1)
_NO_WHEEL_OF = re.compile(r"([\w.-]{1,200})==([\w.+!-]{1,100}) has no usable wheels")
_MOST_EXEMPT = 5
# uv's last line where a package has only a source.
_SOURCE_ONLY = re.compile(
    r"Wheels are required for `([\w.-]{1,200})` because building from source is disabled"
)
_MOST_BUILDS = 5


def find_newest_version(package: Package, place: Place, watch: Watch) -> str:
    """Return the version that the index offers now, or ""."""
    make_environment(package, place, watch)
    artefacts = resolve(package, place, watch, [package.name], ["--no-deps"])
    return next(iter(artefacts), Artefact("", "", "")).version


def install(
    package: Package,
    place: Place,
    watch: Watch,
    *,
    constraints: Sequence[str] = (),
    held: Sequence[Artefact] = (),
    built: Mapping[str, str] | None = None,
    python: str = "",
) -> Installed:
    """Install the package with its dependencies. `held` pins the exact files for a Python, and
    `built` the wheels that were built of those that are sources."""
    if held:
        make_environment(package, place, watch, python)
        artefacts, wheels = list(held), _restore_wheels(place, watch, held, built or {})
    else:
        artefacts, wheels = _resolve_anywhere(package, place, watch, constraints)
    _fill(package, place, watch, artefacts, wheels)
    launch = (str(bin_of(place) / "python"), "-I", "-B", _program(package, place))
    version = f"3.{version_of(place)[1]}"
    return Installed(
        (*launch, *package.arguments), tuple(artefacts), python=version, built=wheels.digests
    )


def _restore_wheels(
    place: Place, watch: Watch, held: Sequence[Artefact], built: Mapping[str, str]
) -> SourceWheels:
    """Return the wheels that were built before, of the same sources."""
    wheels = SourceWheels(place, watch)
    for artefact in held:
        if wheel := built.get(normal_name(artefact.name)):
            wheels.add(artefact.name, artefact.version, held=artefact.digest, wheel=wheel)
    return wheels


def _resolve_anywhere(
    package: Package, place: Place, watch: Watch, constraints: Sequence[str]
) -> tuple[list[Artefact], SourceWheels]:
    """Resolve for our own Python, or else for another one here that the package wants."""
    make_environment(package, place, watch)
    try:
        return _resolve_and_build(package, place, watch, constraints)
    except WantsPythonError as problem:
        if package.python or find_python(problem.python) is None:
            raise
        place.make()
        make_environment(package, place, watch, problem.python)
        return _resolve_and_build(package, place, watch, constraints)


def install_requirements(
    requirements: Sequence[str],
    place: Place,
    watch: Watch,
    *,
    held: Sequence[Artefact] = (),
    built: Mapping[str, str] | None = None,
) -> tuple[list[Artefact], dict[str, str]]:
    """Install requirements into an environment; return their files, and digests of built wheels."""
    package = Package("pypi", "requirements")
    if held:
        artefacts, wheels = list(held), _restore_wheels(place, watch, held, built or {})
    else:
        artefacts, wheels = _resolve_and_build(package, place, watch, (), requirements)
    _fill(package, place, watch, artefacts, wheels)
    return artefacts, wheels.digests


def _resolve_and_build(
    package: Package,
    place: Place,
    watch: Watch,
    constraints: Sequence[str],
    requirements: Sequence[str] = (),
) -> tuple[list[Artefact], SourceWheels]:
    """Resolve, and build a wheel of each package that has only a source, one after the other."""
    wheels = SourceWheels(place, watch)
    while True:
        try:
            artefacts = (
                resolve(package, place, watch, requirements, ())
                if requirements
                else _resolve_whole(package, place, watch, constraints)
            )
            return [wheels.recorded(artefact) for artefact in artefacts], wheels
        except PackageProblemError as problem:
            message = " ".join(str(problem).split())
            missing = [name for name in _SOURCE_ONLY.findall(message) if name not in wheels]
            if not missing or len(wheels.digests) >= _MOST_BUILDS:
                raise
            versions = dict(_NO_WHEEL_OF.findall(message))
            wheels.add(missing[0], versions.get(missing[0], ""))


def _resolve_whole(
    package: Package,
    place: Place,
    watch: Watch,
    constraints: Sequence[str],
    options: Sequence[str] = (),
) -> list[Artefact]:
    bounds = ["-c", write_file(place, "constraints.txt", constraints)] if constraints else []
    pinned = f"{package.name}{package.extras}=={package.version}"
    return resolve(package, place, watch, [pinned, *package.companions], [*bounds, *options])


def compile_modules(place: Place, watch: Watch) -> str:
    """Compile the package's modules beside it, and return their digest; "" if that failed.

    It runs nothing of the package. What is not valid Python, such as a template, is left out.
    """
    if not (bin_of(place) / "python").exists():
        return ""
    place.scratch.mkdir(mode=0o700, exist_ok=True)
    shutil.rmtree(place.compiled, ignore_errors=True)
    options = ["-I", "-X", f"pycache_prefix={place.compiled}", "-m", "compileall", "-q", "-q"]
    try:
        run_client(
            [str(bin_of(place) / "python"), *options, *_site_packages(place)],
            place,
            watch,
            readable=(),
        )
    finally:
        place.finish()
    return code_digest(place.compiled)


def read_requirements(package: Package, place: Place) -> list[str]:
    """Return the package's declared requirements."""
    distribution = _distribution(package, place)
    return list(distribution.requires or ()) if distribution else []


def read_modules(place: Place) -> dict[str, set[str]]:
    """Return the distributions that contain each top-level module."""
    owners: dict[str, set[str]] = {}
    for distribution in importlib.metadata.distributions(path=_site_packages(place)):
        for path in distribution.files or ():
            if path.suffix == ".py":
                owners.setdefault(path.parts[0].removesuffix(".py"), set()).add(
                    distribution.metadata["Name"]
                )
    return owners


def find_definers(place: Place, name: str) -> set[str]:
    """Return the distributions with a class of that name."""
    pattern = re.compile(rf"^class {re.escape(name)}\b", re.MULTILINE)
    return {
        str(distribution.metadata["Name"])
        for distribution in importlib.metadata.distributions(path=_site_packages(place))
        for path in distribution.files or ()
        if path.suffix == ".py" and pattern.search(_read_source(Path(str(path.locate()))))
    }


def _read_source(path: Path) -> str:
    """Return the text of a file of someone else's; "" if it is none, or no reasonable one."""
    try:
        if not path.is_file() or path.is_symlink() or path.stat().st_size > _LONGEST_SOURCE:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _fill(
    package: Package,
    place: Place,
    watch: Watch,
    artefacts: Sequence[Artefact],
    wheels: SourceWheels,
) -> None:
    """Install exactly these files."""
    lines = [
        f"{artefact.name}=={artefact.version} --hash={wheels.installed_digest(artefact)}"
        for artefact in artefacts
    ]
    pinned = ["--require-hashes", "--no-deps", "-r", write_file(place, "held.txt", lines)]
    run_uv(package, place, watch, ["install", *pinned])


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
        now = {
            artefact.name: artefact.version
            for artefact in _resolve_whole(package, place, watch, ())
        }
        released = find_release(read_lock(place), package.name)
        if released is None:
            return []
        until = f"{released + _AFTERWARDS:%Y-%m-%dT%H:%M:%SZ}"
        then = _resolve_until(package, place, watch, until)
    except PackageProblemError:
        return []
    finally:
        place.finish()
    return [
        f"{artefact.name}<={artefact.version}"
        for artefact in then
        if now.get(artefact.name, artefact.version) != artefact.version
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
            message = " ".join(str(problem).split())
            without = {name for name, _ in _NO_WHEEL_OF.findall(message)} - {*exempt}
            if not without or len(exempt) >= _MOST_EXEMPT:
                raise
            exempt += sorted(without)


def _program(package: Package, place: Place) -> str:
    """Return the script that starts the package."""
    distribution = _distribution(package, place)
    scripts = [
        point.name
        for point in (distribution.entry_points if distribution else ())
        if point.group == "console_scripts"
    ]
    script = package.program or package.name
    if script not in scripts and not package.program and len(scripts) == 1:
        script = scripts[0]
    path = bin_of(place) / script
    if not path.is_file():
        has = f"It has {', '.join(sorted(scripts)[:10])}." if scripts else "It has no programs."
        raise PackageProblemError("no_program", f"The package has no program {script!r}. {has}")
    return str(path)


def _distribution(package: Package, place: Place) -> importlib.metadata.Distribution | None:
    for distribution in importlib.metadata.distributions(path=_site_packages(place)):
        if normal_name(distribution.metadata["Name"]) == normal_name(package.name):
            return distribution
    return None


def _site_packages(place: Place) -> list[str]:
    return [str(path) for path in place.folder.glob("lib/python3.*/site-packages")]
