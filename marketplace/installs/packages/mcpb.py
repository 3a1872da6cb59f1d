"""MCP bundles: fetched through the guarded door, and unpacked as the digest says or not at all.

Nothing of a bundle runs before its server starts.
"""

import hashlib
from pathlib import Path
from typing import Any

from django.conf import settings

from catalog.formats.archive_members import MB, ArchiveFile
from catalog.formats.files import RefusedError
from catalog.formats.mcpb import (
    BUNDLE_BYTES,
    BUNDLE_LIMITS,
    MANIFEST,
    bundle_kind,
    entry_point,
    launch_arguments,
)
from catalog.formats.package_names import Package
from catalog.servers.client.archive_reader import read_archive
from catalog.servers.net.guarded_requests import Bounds, fetch
from catalog.servers.net.outgoing_errors import OutgoingError
from marketplace.installs.packages.npm import find_node
from marketplace.installs.packages.package_client import Watch
from marketplace.installs.packages.package_folders import Place
from marketplace.installs.packages.package_result import (
    Artefact,
    Installed,
    PackageProblemError,
    read_json,
)
from marketplace.installs.packages.python_bundle import Held, install_python

__all__ = ["Held", "install"]


def install(package: Package, place: Place, watch: Watch, held: Held) -> Installed:
    """Fetch the bundle and unpack it into its place."""
    folder, body = place.folder / "bundle", _fetch(package)
    try:
        _unpack(body, folder)
        manifest = _manifest(folder)
        _check_program(folder, entry_point(manifest))
        if bundle_kind(manifest) != "node":
            return install_python(manifest, folder, package, place, watch, held)
        return _install_node(manifest, folder, package, place)
    except RefusedError as refused:
        raise PackageProblemError("package_failed", f"The bundle {refused.reason}.") from None


def _install_node(manifest: Any, folder: Path, package: Package, place: Place) -> Installed:
    node, arguments = find_node(), launch_arguments(manifest, str(folder))
    own = place.folder / "bin" / "node"
    own.parent.mkdir(exist_ok=True)
    own.symlink_to(node)
    artefact = Artefact(package.name, package.version, f"sha256:{package.version}")
    return Installed((str(own), *arguments, *package.arguments), (artefact,))


def _fetch(package: Package) -> bytes:
    bounds = Bounds(most_bytes=BUNDLE_BYTES, seconds=settings.PEGBOARD_PACKAGE_SECONDS)
    try:
        found = fetch(package.name, bounds=bounds)
    except OutgoingError as problem:
        raise PackageProblemError("index_not_reachable", str(problem)) from None
    if found.status != 200:
        words = f"The bundle could not be fetched: its address answered {found.status}."
        raise PackageProblemError("index_not_reachable", words)
    if hashlib.sha256(found.body).hexdigest() != package.version:
        words = "The address returned another file than the one that was confirmed."
        raise PackageProblemError("package_changed", words)
    return found.body


def _unpack(body: bytes, folder: Path) -> None:
    for one in read_archive(body, limits=BUNDLE_LIMITS):
        if not isinstance(one, ArchiveFile):
            continue  # links are left out, as everywhere
        path = folder / one.path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as written:
                written.write(one.content)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            raise RefusedError("has a file where a folder is") from None


def _manifest(folder: Path) -> Any:
    path = folder / MANIFEST
    if not path.is_file() or path.stat().st_size > MB:
        raise RefusedError(f"has no usable {MANIFEST}")
    return read_json(path.read_text(encoding="utf-8", errors="replace"), MANIFEST)


def _check_program(folder: Path, program: str) -> None:
    path = (folder / program).resolve()
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        raise RefusedError("has no program where its manifest says")
