"""Compilation of a Python package's modules, once its server is ready.

Nobody waits for it at installation, and no start may write: without it each start would compile
anew what it imports. Until the row names the compiled modules, no start uses them.
"""

from django.db import transaction
from django.db.models import QuerySet

from catalog.formats.package_names import parse_package
from catalog.models import Integration
from marketplace.installs.install_state import lock_installed
from marketplace.installs.packages.package_client import NoLongerWantedError, Watch
from marketplace.installs.packages.package_folders import Place
from marketplace.installs.packages.package_result import PackageProblemError
from marketplace.installs.packages.pypi import compile_modules
from marketplace.models import Installation


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
