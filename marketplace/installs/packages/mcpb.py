"""MCP bundles: fetched through the guarded door, and unpacked as the digest says or not at all.

Nothing of a bundle runs before its server starts.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from catalog.formats.archive_members import MB, ArchiveFile
from catalog.formats.files import RefusedError
from catalog.formats.mcpb import (
    BUNDLE_BYTES,
    BUNDLE_LIMITS,
    LONGEST_PROJECT,
    MANIFEST,
    PROJECT,
    Project,
    bundle_kind,
    entry_point,
    launch_arguments,
    python_runtime,
    read_project,
)
from catalog.formats.package_names import Package
from catalog.servers.client.document_readers import read_archive
from catalog.servers.net.address_check import OutgoingError
from catalog.servers.net.guarded_requests import Bounds, fetch
from marketplace.installs.packages._uv_client import (
    bin_of,
    find_python,
    make_environment,
    own_version,
    version_of,
)
from marketplace.installs.packages.client import Watch
from marketplace.installs.packages.folders import (
    Artefact,
    Installed,
    PackageProblemError,
    Place,
    read_json,
)
from marketplace.installs.packages.npm import find_node
from marketplace.installs.packages.pypi import install_requirements

# MCP bundles for Python: an environment of their own, with the bundle's folders on its path.
# The bundle's libraries stay where they are. Where it has none but names some, uv installs them
# from the index like those of any package.

# Compiled modules say for which Python and system they are: `fast.cpython-312-x86_64-linux-gnu.so`.
_COMPILED = re.compile(r"(?P<stem>.+?)\.cpython-3(?P<minor>\d{1,2})\w*-(?P<system>[\w-]+)\.so")


@dataclass(frozen=True, slots=True)
class Held:
    """Files of an earlier installation, which are installed again."""

    artefacts: Sequence[Artefact] = ()
    built: Mapping[str, str] | None = None
    python: str = ""


def install_python(
    manifest: Any, folder: Path, package: Package, place: Place, watch: Watch, held: Held
) -> Installed:
    """Make the environment of a bundle that is unpacked in `folder`."""
    runtime = python_runtime(manifest)
    libraries = [folder / entry for entry in runtime.libraries if (folder / entry).is_dir()]
    project = Project() if libraries and not runtime.is_uv else _project(folder)
    allowed = ",".join(filter(None, (runtime.python, project.python)))
    python = held.python or _choose_python(folder, allowed)
    make_environment(package, place, watch, python)
    artefacts: list[Artefact] = []
    built: dict[str, str] = {}
    if project.requirements:
        held_artefacts = [entry for entry in held.artefacts if entry.name != package.name]
        artefacts, built = install_requirements(
            project.requirements, place, watch, held=held_artefacts, built=held.built
        )
    arguments = launch_arguments(manifest, str(folder))
    # The folders of the bundle's own modules: its program's, and those above.
    file = Path(arguments[0])
    beside = [file.parent] if file.is_absolute() else []
    _add_paths(place, [*libraries, *[*beside, folder / "src", folder / "server", folder]])
    return Installed(
        (str(bin_of(place) / "python"), "-I", "-B", *arguments, *package.arguments),
        (Artefact(package.name, package.version, f"sha256:{package.version}"), *artefacts),
        python=".".join(map(str, version_of(place))),
        built=built,
    )


def _project(folder: Path) -> Project:
    path = folder / PROJECT
    if not path.is_file():
        return Project()
    if path.stat().st_size > LONGEST_PROJECT:
        raise RefusedError(f"has no usable {PROJECT}")
    return read_project(path.read_text(encoding="utf-8", errors="replace"))


def _choose_python(folder: Path, allowed: str) -> str:
    """Return the specifier of a Python here that the bundle allows, and its compiled parts fit."""
    minors = _compiled_for(folder)
    candidates = [f"{allowed},==3.{minor}.*".strip(",") for minor in minors] or [allowed]
    specifier = next(
        (candidate for candidate in candidates if find_python(candidate) is not None), None
    )
    if specifier is None:
        needs = " or ".join(f"3.{minor}" for minor in minors) if minors else allowed
        words = f"It requires Python {needs}. This is {own_version()}."
        raise PackageProblemError("client_missing", words)
    return specifier


def _compiled_for(folder: Path) -> list[int]:
    """Return the minor versions of Python that all compiled modules fit, our own first; none if
    there are no such modules.
    """
    by_module: dict[str, set[int]] = {}
    elsewhere: set[str] = set()
    for path in (*folder.rglob("*.so"), *folder.rglob("*.pyd")):
        match = _COMPILED.fullmatch(path.name)
        if match is None:
            continue
        module = str(path.parent / match["stem"])
        if "linux" in match["system"]:
            by_module.setdefault(module, set()).add(int(match["minor"]))
        else:
            elsewhere.add(module)
    if missing := elsewhere - by_module.keys():
        name = Path(min(missing)).name
        raise RefusedError(f"has parts that were compiled for another system ({name[:100]})")
    common = set.intersection(*by_module.values()) if by_module else set()
    if by_module and not common:
        raise RefusedError("has parts that were compiled for different versions of Python")
    our_minor = int(own_version().partition(".")[2])
    return sorted(common, key=lambda minor: (minor != our_minor, minor))


def _add_paths(place: Place, folders: Iterable[Path]) -> None:
    """Name folders in a file that Python reads at its start. `PYTHONPATH` would be ignored."""
    [packages] = place.folder.glob("lib/python3.*/site-packages")
    inside = place.folder.resolve()
    real = [path for path in dict.fromkeys(folders) if path.resolve().is_relative_to(inside)]
    with (packages / "bundle.pth").open("x", encoding="utf-8") as file:
        file.writelines(f"{path}\n" for path in real if path.is_dir() and "\n" not in str(path))


__all__ = ["Held", "install"]


def install(package: Package, place: Place, watch: Watch, held: Held) -> Installed:
    """Fetch the bundle and unpack it into its place."""
    folder, body = place.folder / "bundle", _fetch(package)
    try:
        _unpack(body, folder)
        path = folder / MANIFEST
        if not path.is_file() or path.stat().st_size > MB:
            raise RefusedError(f"has no usable {MANIFEST}")
        manifest = read_json(path.read_text(encoding="utf-8", errors="replace"), MANIFEST)
        _check_program(folder, entry_point(manifest))
        if bundle_kind(manifest) != "node":
            return install_python(manifest, folder, package, place, watch, held)
        node, arguments = find_node(), launch_arguments(manifest, str(folder))
        link = place.folder / "bin" / "node"
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(node)
        artefact = Artefact(package.name, package.version, f"sha256:{package.version}")
        return Installed((str(link), *arguments, *package.arguments), (artefact,))
    except RefusedError as refused:
        raise PackageProblemError("package_failed", f"The bundle {refused.reason}.") from None


def _fetch(package: Package) -> bytes:
    bounds = Bounds(most_bytes=BUNDLE_BYTES, seconds=settings.PEGBOARD_PACKAGE_SECONDS)
    try:
        response = fetch(package.name, bounds=bounds)
    except OutgoingError as problem:
        raise PackageProblemError("index_not_reachable", str(problem)) from None
    if response.status != 200:
        words = f"The bundle could not be fetched: its address answered {response.status}."
        raise PackageProblemError("index_not_reachable", words)
    if hashlib.sha256(response.body).hexdigest() != package.version:
        words = "The address returned another file than the one that was confirmed."
        raise PackageProblemError("package_changed", words)
    return response.body


def _unpack(body: bytes, folder: Path) -> None:
    for member in read_archive(body, limits=BUNDLE_LIMITS):
        if not isinstance(member, ArchiveFile):
            continue  # links are left out, as everywhere
        path = folder / member.path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.write(member.content)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            raise RefusedError("has a file where a folder is") from None


def _check_program(folder: Path, program: str) -> None:
    path = (folder / program).resolve()
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        raise RefusedError("has no program where its manifest says")
