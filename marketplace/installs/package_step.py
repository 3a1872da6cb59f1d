"""The first step of an installation: its package in a place of its own, at the version and made of
the files that it was before."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from django.db.models.functions import Now

from catalog.formats.package_names import Package, parse_package
from catalog.models import Integration
from marketplace.installs.install_state import StoppedError, go, move
from marketplace.installs.packages import npm, pypi
from marketplace.installs.packages.installed_package import Artefact, Installed
from marketplace.installs.packages.package_client import NotWantedError, Watch, check_size
from marketplace.installs.packages.package_folders import Place, new_name
from marketplace.installs.packages.package_problem import PackageProblemError
from marketplace.models import Installation

State = Installation.State
_TOLD_EVERY = 10  # packages
_ROOM = BoundedSemaphore(6)


def find_newest(installation: Installation) -> Package:
    """The package that the command names, at the version that its index would give now."""
    package = parse_package(installation.command)
    if package is None:
        raise PackageProblemError("no_package", "The command names no package.")
    watch = _watch(installation, State.CONFIGURE)
    index = npm if package.index == "npm" else pypi
    with _Attempt(installation, State.CONFIGURE) as place:
        version = index.newest(package, place, watch)
        place.remove()
    if not version:
        raise PackageProblemError("package_not_found", f"There is no package {package.name}.")
    return package.at(version)


def fetch(installation: Installation) -> None:
    """Put the package into a place of its own; nothing where the command names none."""
    package = parse_package(installation.command)
    if package is None:
        go(installation, State.FETCHING, "Nothing has to be fetched.")
        return
    if is_in_place(installation):
        go(installation, State.FETCHING, "Its package is in place.")
        return
    with _room(), _begun(installation, package) as place:
        installed = _install(package, place, installation)
        _check_the_same(installed, installation)
        place.finish()
        check_size(place)
        _note(installation, place, installed)
    told = (
        f"{package.name} {package.version} is in place, with {len(installed.artefacts)} packages."
    )
    go(installation, State.FETCHING, told)


class NoRoomError(Exception):
    """As many packages are being fetched as may be: the process has calls to make, too."""


@contextmanager
def _room() -> Iterator[None]:
    if not _ROOM.acquire(blocking=False):
        raise NoRoomError
    try:
        yield
    finally:
        _ROOM.release()


def _begun(installation: Installation, package: Package) -> "_Attempt":
    go(installation, State.FETCHING, f"Asks for {package.name} {package.version}.")
    return _Attempt(installation, State.FETCHING)


def is_in_place(installation: Installation) -> bool:
    """Whether what was fetched before is still there, and nothing else."""
    package = installation.package
    if not installation.place or package.get("place") != installation.place:
        return False
    return bool(package["digest"] == Place(installation.place).digest())


def forget_place(installation: Installation) -> None:
    """Remove the folder of an installation that did not come to its end."""
    name, installation.place = installation.place, ""
    if not name:
        return
    # First the row: whoever begins it again must not look at what is being removed.
    Installation.objects.filter(pk=installation.pk, place=name).update(place="")
    serving = Integration.objects.filter(pk=installation.integration_id, package__place=name)
    if not serving.exists():
        Place(name).remove()


class _Attempt:
    """A new place that the row names before it is made; gone again where anything goes wrong."""

    def __init__(self, installation: Installation, state: State) -> None:
        self._installation, self._state = installation, state
        self._place = Place(new_name())

    def __enter__(self) -> Place:
        forget_place(self._installation)
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
            forget_place(self._installation)
        if kind is NotWantedError:
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
    if package.index == "npm":
        if installation.constraints:
            words = "Bounds on what a package needs are for packages from PyPI."
            raise PackageProblemError("not_for_npm", words)
        return npm.install(package, place, watch, lock=before.get("lock", "") if same else "")
    held = [Artefact(*one) for one in before.get("artefacts", ())] if same else []
    return pypi.install(package, place, watch, constraints=installation.constraints, held=held)


def _check_the_same(installed: Installed, installation: Installation) -> None:
    """The same version of the same package is the same file, whenever it is fetched."""
    known: dict[tuple[str, str], str] = {}
    for package in (installation.integration.package, installation.package):
        known |= {(name, version): digest for name, version, digest in package.get("artefacts", ())}
    for one in installed.artefacts:
        if known.get((one.name, one.version), one.digest) != one.digest:
            words = f"{one.name} {one.version} is another file than it was before. It is refused."
            raise PackageProblemError("package_changed", words)


def _note(installation: Installation, place: Place, installed: Installed) -> None:
    package = {
        "place": place.name,
        "launch": list(installed.launch),
        "digest": place.digest(),
        "artefacts": [[one.name, one.version, one.digest] for one in installed.artefacts],
        "lock": installed.lock,
        "constraints": installation.constraints,
        "command_digest": installation.command_digest,
    }
    row = Installation.objects.filter(pk=installation.pk, state=State.FETCHING, place=place.name)
    if not row.update(package=package):
        raise StoppedError
    installation.package = package


def _watch(installation: Installation, state: State) -> Watch:
    """Tells of progress, and ends the client where the installation is somebody else's by now."""
    collected = 0

    def hears(line: str) -> None:
        nonlocal collected
        if line.startswith(("Collecting ", "Processing ")):
            collected += 1
            if collected % _TOLD_EVERY == 0:
                move(installation, state, message=f"{collected} packages so far.")
        elif line.startswith("Installing collected packages:"):
            move(installation, state, message=f"Unpacks {line.count(',') + 1} packages.")

    def goes_on() -> bool:
        mine = Installation.objects.filter(
            pk=installation.pk, state=state, place=installation.place
        )
        return bool(mine.update(sent_at=Now()))

    return Watch(hears, goes_on)
