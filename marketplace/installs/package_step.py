"""The fetch step: puts the package into a folder of its own.

The same version must consist of the same files as before.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from catalog.formats.package_names import Package, parse_package
from catalog.models import Integration
from marketplace.installs.packages import mcpb, npm, pypi
from marketplace.installs.packages.client import NoLongerWantedError, Watch, check_size
from marketplace.installs.packages.folders import (
    Artefact,
    Installed,
    PackageProblemError,
    Place,
    new_name,
)
from marketplace.installs.packages.pypi import compile_modules
from marketplace.installs.state import StoppedError, advance, lock_installed, transition
from marketplace.models import Installation

State = Installation.State
_OTHER_NODE = re.compile(r"Wants Node (.{1,100})")
_UNPACKING = re.compile(r"Resolved (\d{1,6}) packages? in ")
_BUILDING = re.compile(r"Building ([\w.-]{1,100}) ([\w.+!-]{1,50})")
_SLOTS = BoundedSemaphore(6)


def find_newest_version(installation: Installation) -> Package:
    """Look up the newest version of the package in the command."""
    package = parse_package(installation.command)
    if package is None:
        raise PackageProblemError("no_package", "The command names no package.")
    watch = _watch(installation, State.CONFIGURE)
    # Functions and not modules: mypy knows nothing of a module in a variable.
    find = npm.find_newest_version if package.index == "npm" else pypi.find_newest_version
    with _Attempt(installation, State.CONFIGURE) as place:
        version = find(package, place, watch)
        place.remove()
    if not version:
        raise PackageProblemError("package_not_found", f"There is no package {package.name}.")
    return package.at(version)


def fetch_package(installation: Installation) -> None:
    """Fetch the package into its own folder. Does nothing if the command names no package."""
    package = parse_package(installation.command)
    if package is None:
        advance(installation, State.FETCHING, gettext_noop("Nothing to fetch."))
        return
    if is_in_place(installation):
        advance(installation, State.FETCHING, gettext_noop("The package is already installed."))
        return
    with _take_slot(), _begin(installation, package) as place:
        installed = _install(package, place, installation)
        _check_unchanged(installed, installation)
        place.finish()
        check_size(place)
        _save_package(installation, place, installed)
    message = (
        f"{package.name} {package.version} is in place, with {len(installed.artefacts)} packages."
    )
    advance(installation, State.FETCHING, message)


class NoFreeSlotError(Exception):
    """Too many packages are being fetched. The process also has to make calls."""


@contextmanager
def _take_slot() -> Iterator[None]:
    if not _SLOTS.acquire(blocking=False):
        raise NoFreeSlotError
    try:
        yield
    finally:
        _SLOTS.release()


def _begin(installation: Installation, package: Package) -> "_Attempt":
    advance(installation, State.FETCHING, f"Fetching {package.name} {package.version}.")
    return _Attempt(installation, State.FETCHING)


def is_in_place(installation: Installation) -> bool:
    """Return True if the fetched package is still there, unchanged, and the one to install."""
    package = installation.package
    if not installation.place or package.get("place") != installation.place:
        return False
    # Other bounds on its dependencies make another command digest, and need other files.
    if package.get("command_digest") != installation.command_digest:
        return False
    return bool(package["digest"] == Place(installation.place).digest())


def discard_place(installation: Installation) -> None:
    """Remove the folder of an unfinished installation."""
    name, installation.place = installation.place, ""
    if not name:
        return
    # The row comes first: a retry must not see the folder that is being removed.
    Installation.objects.filter(pk=installation.pk, place=name).update(place="")
    serving = Integration.objects.filter(pk=installation.integration_id, package__place=name)
    if not serving.exists():
        Place(name).remove()


class _Attempt:
    """A new folder, recorded in the row before it is created, and removed after any error."""

    def __init__(self, installation: Installation, state: State) -> None:
        self._installation, self._state = installation, state
        self._place = Place(new_name())

    def __enter__(self) -> Place:
        discard_place(self._installation)
        row = Installation.objects.filter(pk=self._installation.pk, state=self._state)
        if not row.update(place=self._place.name):
            raise StoppedError
        self._installation.place = self._place.name
        try:
            self._place.make()
        except OSError as problem:
            raise _unwritable(problem) from problem
        return self._place

    def __exit__(self, kind: type[BaseException] | None, problem: object, trace: object) -> None:
        if kind is not None:
            discard_place(self._installation)
        if kind is NoLongerWantedError:
            raise StoppedError
        if isinstance(problem, OSError):
            raise _unwritable(problem)


def _unwritable(problem: OSError) -> PackageProblemError:
    words = "The folder for packages (servers, in the data folder) cannot be written"
    return PackageProblemError("no_room", f"{words}: {problem.strerror or problem}.")


def _install(package: Package, place: Place, installation: Installation) -> Installed:
    watch = _watch(installation, State.FETCHING)
    before = installation.package
    same = bool(before) and before.get("command_digest") == installation.command_digest
    if package.index != "pypi" and installation.constraints:
        words = "Only packages from PyPI can have bounds on their dependencies."
        raise PackageProblemError("not_for_npm", words)
    if package.index == "mcpb":
        return mcpb.install(package, place, watch, _held_bundle(before if same else {}))
    if package.index == "npm":
        return npm.install(package, place, watch, lock=before.get("lock", "") if same else "")
    held = [Artefact(*fields) for fields in before.get("artefacts", ())] if same else []
    # Held files fit one Python; where it is gone, another version of it would not do.
    python = f"=={before['python']}.*" if held and before.get("python") else ""
    return pypi.install(
        package,
        place,
        watch,
        constraints=installation.constraints,
        held=held,
        built=before.get("built") if same else None,
        python=python,
    )


def _held_bundle(before: Mapping[str, Any]) -> mcpb.Held:
    """Return the files of a bundle's libraries that were installed before."""
    held = tuple(Artefact(*fields) for fields in before.get("artefacts", ()))
    python = f"=={before['python']}.*" if before.get("python") else ""
    return mcpb.Held(held, before.get("built"), python)


def _check_unchanged(installed: Installed, installation: Installation) -> None:
    """Refuse a file that differs from what the same version contained before."""
    digests: dict[tuple[str, str], str] = {}
    for package in (installation.integration.package, installation.package):
        digests |= {
            (name, version): digest for name, version, digest in package.get("artefacts", ())
        }
    for artefact in installed.artefacts:
        if digests.get((artefact.name, artefact.version), artefact.digest) != artefact.digest:
            file = f"{artefact.name} {artefact.version}"
            words = f"{file} differs from the file fetched before, so it was refused."
            raise PackageProblemError("package_changed", words)


def _save_package(installation: Installation, place: Place, installed: Installed) -> None:
    package = {
        "place": place.name,
        "launch": list(installed.launch),
        "digest": place.digest(),
        "artefacts": [
            [artefact.name, artefact.version, artefact.digest] for artefact in installed.artefacts
        ],
        "lock": installed.lock,
        "python": installed.python,
        "built": installed.built,
        "constraints": installation.constraints,
        "command_digest": installation.command_digest,
    }
    row = Installation.objects.filter(pk=installation.pk, state=State.FETCHING, place=place.name)
    if not row.update(package=package):
        raise StoppedError
    installation.package = package


def _watch(installation: Installation, state: State) -> Watch:
    """Report progress, and stop the client if the installation is no longer in this state."""

    def on_line(line: str) -> None:
        if match := _UNPACKING.match(line):
            transition(installation, state, message=f"Unpacking {match[1]} packages.")
        elif match := _BUILDING.fullmatch(line):
            words = f"Building {match[1]} {match[2]}, which is offered as source only."
            transition(installation, state, message=words)
        elif match := _OTHER_NODE.match(line):
            words = f"It declares that it needs Node {match[1]}. Another one is installed here."
            transition(installation, state, message=words)

    def is_wanted() -> bool:
        mine = Installation.objects.filter(
            pk=installation.pk, state=state, place=installation.place
        )
        return bool(mine.update(sent_at=Now()))

    return Watch(on_line, is_wanted)


# Compilation of a Python package's modules, once its server is ready.
# Nobody waits for it at installation, and no start may write: without it each start would compile
# anew what it imports. Until the row names the compiled modules, no start uses them.


def compile_package(pk: int) -> None:
    """Compile the package of an installation that has just become ready, and say so in its rows."""
    installation = Installation.objects.filter(pk=pk, state=Installation.State.READY).first()
    package = parse_package(installation.command) if installation else None
    if installation is None or package is None or package.index != "pypi":
        return
    if not installation.place or "compiled" in installation.package:
        return

    def is_wanted() -> bool:
        return _served_from(installation.place).exists()

    try:
        digest = compile_modules(Place(installation.place), Watch(is_wanted=is_wanted))
    except (PackageProblemError, NoLongerWantedError, OSError):
        return  # it starts as before
    _save(installation, digest)


def _save(installation: Installation, digest: str) -> None:
    package = installation.package | {"compiled": digest}
    with transaction.atomic():
        lock_installed(installation.integration_id)
        if digest and _served_from(installation.place).update(package=package):
            Installation.objects.filter(pk=installation.pk).update(package=package)


def _served_from(place: str) -> QuerySet[Integration]:
    return Integration.objects.filter(package__place=place)
