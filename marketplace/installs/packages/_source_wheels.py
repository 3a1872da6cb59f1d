"""Wheels of packages that an index offers as source only: built in a cell without a network.

A build runs a stranger's code, as the start of a server does. Its cell has that package's archive,
pinned build backends and a Python; no variable, no file and no password of the index, and nothing
of the installation that it is for. What leaves the cell is one file, read as bytes.
"""

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.conf import settings
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from catalog.formats.package_names import Package
from catalog.servers.cell.support import cell_problem, cells_wanted
from marketplace.installs.packages import _source_fetcher
from marketplace.installs.packages._stores import add_wheel, find_wheel, read_plain
from marketplace.installs.packages._uv_client import (
    bin_of,
    find_uv,
    make_environment,
    read_lock,
    resolve_source,
    run_uv,
    version_of,
    wheels_folder,
    write_file,
)
from marketplace.installs.packages.client import BARE_ENVIRONMENT, BUILD_LIMITS, Watch, run_client
from marketplace.installs.packages.folders import Artefact, PackageProblemError, Place

BACKENDS = Path(__file__).with_name("build_backends.lock")
SECONDS = 180
_MOST_BYTES = 50 * 1024**2  # of a source archive, and of a wheel
_SUFFIXES = (".tar.gz", ".zip")
# The earliest time that a zip can have: the same source makes the same wheel.
_EPOCH = "315532800"
_BEYOND_LIMITS = {
    "package_too_slow": "It took too long.",
    "package_too_large": "It took too much memory or room.",
}


@dataclass(frozen=True, slots=True)
class SourceArchive:
    """A source archive of an index."""

    name: str
    version: str
    address: str
    digest: str


class SourceWheels:
    """Wheels that were built for one installation, in a folder that uv looks into."""

    def __init__(self, place: Place, watch: Watch) -> None:
        self._place, self._watch = place, watch
        self._sources: dict[str, str] = {}  # digests of sources by those of their wheels
        self.digests: dict[str, str] = {}  # digests of wheels by the names of packages

    def __contains__(self, name: str) -> bool:
        return canonicalize_name(name) in self.digests

    def add(self, name: str, version: str = "", *, held: str = "", wheel: str = "") -> None:
        """Put a package's wheel into the folder: one that was built before, or a new one.

        `held` and `wheel` are the digests that source and wheel must have.
        """
        _check_allowed(name)
        python = version_of(self._place)
        source = _find_source(name, version, self._place, self._watch)
        if held and source.digest != held:
            raise _changed(name)
        stored = find_wheel(source.digest, python)
        file, content = stored or self._build(source, python)
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        if wheel and digest != wheel:
            raise _changed(name)
        folder = wheels_folder(self._place)
        folder.mkdir(exist_ok=True)
        (folder / file).write_bytes(content)
        self._sources[digest] = source.digest
        self.digests[canonicalize_name(name)] = digest

    def recorded(self, artefact: Artefact) -> Artefact:
        """Return the artefact by the digest of its source, which can be fetched again."""
        digest = self._sources.get(artefact.digest, artefact.digest)
        return Artefact(artefact.name, artefact.version, digest)

    def installed_digest(self, artefact: Artefact) -> str:
        """Return the digest of the file that is installed for a recorded artefact."""
        return self.digests.get(canonicalize_name(artefact.name), artefact.digest)

    def _build(self, source: SourceArchive, python: tuple[int, int]) -> tuple[str, bytes]:
        self._watch.on_line(f"Building {source.name} {source.version}")
        archive = _fetch(source, self._place, self._watch)
        backends = self._prepare_backends(source, python)
        work = Place(f"{self._place.scratch.relative_to(self._place.folder.parent)}/work")
        work.make()
        try:
            (work.folder / archive.name).write_bytes(_read_source(archive, source))
            _run_build(source, work, backends, archive.name, self._watch)
            file, content = take_wheel(source, work)
        finally:
            work.remove()
        add_wheel(source.digest, python, file, content)
        return file, content

    def _prepare_backends(self, source: SourceArchive, python: tuple[int, int]) -> Place:
        """Return an environment with the build backends, made once for an installation."""
        place = Place(f"{self._place.scratch.relative_to(self._place.folder.parent)}/backends")
        if place.folder.is_dir():
            return place
        place.make()
        package = Package("pypi", source.name)
        make_environment(package, place, self._watch, f"=={python[0]}.{python[1]}.*")
        lines = BACKENDS.read_text(encoding="utf-8").splitlines()
        pinned = ["--require-hashes", "--no-deps", "-r", write_file(place, "backends.txt", lines)]
        run_uv(package, place, self._watch, ["install", *pinned])
        place.finish()
        return place


def _check_allowed(name: str) -> None:
    """Raise PackageProblemError unless builds are on, and have a cell."""
    if not settings.PEGBOARD_SOURCE_BUILDS:
        words = (
            f"{name} is offered as source only, and building is turned off here "
            "(PEGBOARD_SOURCE_BUILDS)."
        )
        raise PackageProblemError("package_not_found", words)
    if not cells_wanted() or (problem := cell_problem()):
        why = problem if cells_wanted() else "Sandboxes are switched off (PEGBOARD_CELL)."
        words = f"{name} is offered as source only, and is built only in a sandbox. {why}"
        raise PackageProblemError("package_not_found", words)


def _find_source(name: str, version: str, place: Place, watch: Watch) -> SourceArchive:
    """Return the source archive of a version, or of the newest one; nothing is built for it."""
    resolve_source(name, version, place, watch)
    [package] = tomllib.loads(read_lock(place)).get("packages") or [{}]
    archive = package.get("sdist") or {}
    address = str(archive.get("url", ""))
    digest = str(archive.get("hashes", {}).get("sha256", ""))
    if not digest or not unquote(urlsplit(address).path).endswith(_SUFFIXES):
        words = f"{name} is offered as source only, in no archive that can be verified."
        raise PackageProblemError("package_not_found", words)
    return SourceArchive(name, str(package.get("version", "")), address, f"sha256:{digest}")


def _fetch(source: SourceArchive, place: Place, watch: Watch) -> Path:
    """Fetch the archive in the cell of a package client, to a file in the place."""
    suffix = next(ending for ending in _SUFFIXES if urlsplit(source.address).path.endswith(ending))
    file = place.scratch / f"{canonicalize_name(source.name)}-{source.version}{suffix}"
    text = Path(_source_fetcher.__file__).read_text(encoding="utf-8")
    command = [str(bin_of(place) / "python"), "-I", "-c", text, source.address, str(file)]
    code, output = run_client([*command, str(_MOST_BYTES)], place, watch)
    if code and "too large" in output:
        words = f"{source.name} is offered as source only, and its archive is too large."
        raise PackageProblemError("package_too_large", words)
    if code:
        words = f"The source of {source.name} {source.version} could not be fetched."
        raise PackageProblemError("index_not_reachable", words, output)
    return file


def _read_source(archive: Path, source: SourceArchive) -> bytes:
    content = read_plain(archive)
    if f"sha256:{hashlib.sha256(content).hexdigest()}" != source.digest:
        raise _changed(source.name)
    return content


def _run_build(
    source: SourceArchive, work: Place, backends: Place, archive: str, watch: Watch
) -> None:
    """Run the build in a cell that can write the folder `work` only."""
    uv = [find_uv(), "build", "--wheel", "--no-build-isolation", "--offline", "--no-index"]
    out = ["--out-dir", str(work.folder / "out"), "--python", str(bin_of(backends) / "python")]
    environment = {
        **BARE_ENVIRONMENT,
        "HOME": str(work.scratch),
        "TMPDIR": str(work.scratch),
        "UV_CACHE_DIR": str(work.cache),
        "SOURCE_DATE_EPOCH": _EPOCH,
        # No compiler: what is compiled would fit this machine only.
        "CC": "/nonexistent/compiler",
        "CXX": "/nonexistent/compiler",
    }
    limits = {**BUILD_LIMITS, "folder": str(work.folder)}
    try:
        code, output = run_client(
            [*uv, *out, str(work.folder / archive)],
            work,
            watch,
            readable=[backends.folder],
            environment=environment,
            limits=limits,
            seconds=SECONDS,
        )
    except PackageProblemError as problem:
        raise _failure(source, _BEYOND_LIMITS.get(problem.code, str(problem))) from None
    if code:
        raise _failure(source, output)


def take_wheel(source: SourceArchive, work: Place) -> tuple[str, bytes]:
    """Return the only wheel. Nothing of the cell runs any more, but it may have left anything."""
    out = work.folder / "out"
    wheels = [] if out.is_symlink() or not out.is_dir() else list(out.glob("*.whl"))
    if len(wheels) != 1:
        raise _failure(source, "It left no wheel, or several.")
    try:
        name, version, _, tags = parse_wheel_filename(wheels[0].name)
    except InvalidWheelFilename:
        raise _failure(source, "Its wheel has no valid name.") from None
    if (name, str(version)) != (canonicalize_name(source.name), source.version):
        raise _failure(source, f"It built {name} {version} instead.")
    if not all((tag.abi, tag.platform) == ("none", "any") for tag in tags):
        words = (
            f"{source.name} is offered as source only, and has parts to compile. Only pure Python "
            "is built here."
        )
        raise PackageProblemError("package_not_built", words)
    content = read_plain(wheels[0])
    if not content or len(content) > _MOST_BYTES:
        raise _failure(source, f"Its wheel is no file of at most {_MOST_BYTES // 1024**2} MB.")
    return wheels[0].name, content


def _failure(source: SourceArchive, output: str) -> PackageProblemError:
    words = (
        f"{source.name} {source.version} is offered as source only, and building it failed. A "
        "build has setuptools, Hatchling, Poetry or Flit, three minutes, and neither a network "
        "nor a compiler."
    )
    return PackageProblemError("package_not_built", words, output)


def _changed(name: str) -> PackageProblemError:
    words = f"The source of {name}, or what is built of it, differs from before, so it was refused."
    return PackageProblemError("package_changed", words)


__all__ = ["BACKENDS", "SECONDS", "SourceArchive", "SourceWheels", "take_wheel"]
