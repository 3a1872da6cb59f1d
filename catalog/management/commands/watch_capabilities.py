"""Keep the catalogue in step with the watched folders until stopped."""

import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event
from typing import Any

import structlog
from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import close_old_connections
from watchfiles import Change, watch

from acl.platform.database_work import Lease
from catalog.formats.manifest_folders import watched_folders
from catalog.registration.manifest_reload import ReloadReport, reload_manifests

log = structlog.get_logger(__name__)
# Of several watchers one reads; the others wait until it dies.
_lease = Lease("pegboard/manifests")


# Events (inotify, FSEvents or polling) only trigger a pass, and every pass reads everything, so
# lost or duplicate events do no harm. Folders may be missing, appear and disappear.
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
    if not (is_held := _lease.hold()):
        if is_held is None:
            log.warning("manifests could not be loaded while Postgres is away, retrying")
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


TICK = 1.0  # seconds between checks whether the folders themselves exist
AT_LEAST_EVERY = 60.0  # seconds: safety net for lost events
RETRY_SECONDS = 5.0
# Continuous writes are read after this many debounce periods.
MAX_DEBOUNCES = 4
_POLL_MS = 1000
_TEMPORARY = re.compile(
    r"\.sw[a-z]$|~$|^\.#|^#.*#$|^4913$|^\.goutputstream|\.tmp$|^\.DS_Store$|___jb_"
)

Changes = set[tuple[Change, str]]
Identity = dict[Path, tuple[int, int]]


def follow(
    folders: Callable[[], Sequence[Path]], reload: Callable[[], bool], *, stop: Event
) -> None:
    """Call `reload` at the start and after every change, until `stop` is set.

    `reload` returns False if it failed, and is then called again after a while.
    """
    while not stop.is_set():
        try:
            _watch_until_moved(folders, reload, stop)
        except Exception:  # for instance, the inotify limit is reached
            log.exception("manifests cannot be watched, retrying")
            reload()
            stop.wait(RETRY_SECONDS)


def _watch_until_moved(
    folders: Callable[[], Sequence[Path]], reload: Callable[[], bool], stop: Event
) -> None:
    """Watch the folders; return once they themselves have changed."""
    watched = _identity(folders())
    # Read only once watching has begun, so that no change falls in between.
    next_at = 0.0
    for changes in _ticks(list(watched), stop):
        if changes or time.monotonic() >= next_at:
            next_at = time.monotonic() + (AT_LEAST_EVERY if reload() else RETRY_SECONDS)
        if _identity(folders()) != watched or any(Path(path) in watched for _, path in changes):
            return


def _ticks(folders: Sequence[Path], stop: Event) -> Iterator[Changes]:
    """Yield debounced changes, and an empty set every TICK."""
    if not folders:
        yield set()
        while not stop.wait(TICK):
            yield set()
        return
    quiet = settings.PEGBOARD_RELOAD_DEBOUNCE_MS
    yield from watch(
        *folders,
        watch_filter=_is_relevant,
        step=quiet,
        debounce=quiet * MAX_DEBOUNCES,
        stop_event=stop,
        rust_timeout=int(TICK * 1000),
        yield_on_timeout=True,
        force_polling=settings.PEGBOARD_RELOAD_POLLING or None,
        poll_delay_ms=_POLL_MS,
        ignore_permission_denied=True,
    )


def _is_relevant(change: Change, path: str) -> bool:
    """Ignore editors' temporary files; any other file may belong to a manifest."""
    return not _TEMPORARY.search(Path(path).name)


def _identity(folders: Sequence[Path]) -> Identity:
    """Return the existing folders with their inodes: a recreated folder is a new one."""
    identity: Identity = {}
    for folder in folders:
        try:
            status = folder.stat()
        except OSError:
            continue
        identity[folder] = (status.st_dev, status.st_ino)
    return identity
