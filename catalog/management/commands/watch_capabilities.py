"""Keep the catalogue in step with the watched folders until stopped."""

import signal
from pathlib import Path
from threading import Event
from typing import Any

import structlog
from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import close_old_connections

from acl.platform.database_work import Lease
from catalog.formats.manifest_folders import watched_folders
from catalog.registration.manifest_reload import ReloadReport, reload_manifests
from catalog.registration.manifest_watcher import follow

log = structlog.get_logger(__name__)
# Of several watchers one reads; the others wait until it dies.
_lease = Lease("pegboard/manifests")


class Command(BaseCommand):
    help = "Load the CAPABILITY.yaml files of the watched folders, and again whenever they change."
    requires_system_checks: list[str] = []  # the database may be down for a while

    def handle(self, *args: Any, **options: Any) -> None:
        stop = Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        log.info("watching for manifests", folders=[str(folder) for folder in _folders()])
        follow(_folders, _reload, stop=stop)


def _folders() -> tuple[Path, ...]:
    return watched_folders(settings.PEGBOARD_CAPABILITY_DIRS)


def _reload() -> bool:
    """Load the manifests once; log failures and return False, so that the command goes on."""
    if not _lease.hold():
        return False
    close_old_connections()
    try:
        report = reload_manifests(by=None, folders=_folders())
    except Exception:
        log.exception("manifests could not be loaded, retrying")
        return False
    _log_report(report)
    return True


def _log_report(report: ReloadReport) -> None:
    for defect in report.new_defects:
        log.warning(
            "manifest has a defect", file=defect.file, field=defect.field, reason=defect.reason
        )
    if report.changed_anything:
        counts = report.registered
        log.info(
            "manifests read",
            created=counts.created,
            changed=counts.changed,
            unchanged=counts.unchanged,
            gone=report.gone,
            kept=report.kept,
            defects=len(report.defects),
        )
