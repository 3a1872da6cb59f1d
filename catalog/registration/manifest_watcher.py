"""Waiting for the watched folders to change, with watchfiles (inotify, FSEvents, or polling).

It only says when to read: every pass reads all of it, so an event that is lost, doubled or about
something else does no harm. Folders may be missing, appear and disappear.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event

import structlog
from django.conf import settings
from watchfiles import Change, watch

log = structlog.get_logger(__name__)
TICK = 1.0  # seconds between two looks at whether the folders themselves are there
AT_LEAST_EVERY = 60.0  # seconds: finds what no event told
AFTER_TROUBLE = 5.0  # seconds
# Whoever writes without a pause is read all the same, after this many times the quiet waited for.
LONGEST_WAIT = 4
_POLL_MS = 1000
_TEMPORARY = re.compile(
    r"\.sw[a-z]$|~$|^\.#|^#.*#$|^4913$|^\.goutputstream|\.tmp$|^\.DS_Store$|___jb_"
)

Changes = set[tuple[Change, str]]
Identity = dict[Path, tuple[int, int]]


def follow(folders: Callable[[], Sequence[Path]], read: Callable[[], bool], *, stop: Event) -> None:
    """Call `read` at the start and whenever something may have changed, until `stop` is set.

    `read` says whether it could; where it could not, it is called again after a while.
    """
    while not stop.is_set():
        try:
            _follow_while_the_same(folders, read, stop)
        except Exception:  # such as a system that gives out no more watches
            log.exception("manifests cannot be watched; trying again")
            read()
            stop.wait(AFTER_TROUBLE)


def _follow_while_the_same(
    folders: Callable[[], Sequence[Path]], read: Callable[[], bool], stop: Event
) -> None:
    """Return once other folders are there than at the start.

    The first reading comes after the watching has begun, so that nothing falls between the two.
    """
    there = _identity(folders())
    next_at = 0.0
    for changes in _ticks(list(there), stop):
        if changes or time.monotonic() >= next_at:
            next_at = time.monotonic() + (AT_LEAST_EVERY if read() else AFTER_TROUBLE)
        if _identity(folders()) != there or any(Path(path) in there for _, path in changes):
            return


def _ticks(folders: Sequence[Path], stop: Event) -> Iterator[Changes]:
    """What has changed, once it has been quiet for a moment; nothing, every now and then."""
    if not folders:
        yield set()
        while not stop.wait(TICK):
            yield set()
        return
    quiet = settings.PEGBOARD_RELOAD_DEBOUNCE_MS
    yield from watch(
        *folders,
        watch_filter=_matters,
        step=quiet,
        debounce=quiet * LONGEST_WAIT,
        stop_event=stop,
        rust_timeout=int(TICK * 1000),
        yield_on_timeout=True,
        force_polling=settings.PEGBOARD_RELOAD_POLLING or None,
        poll_delay_ms=_POLL_MS,
        ignore_permission_denied=True,
    )


def _matters(change: Change, path: str) -> bool:
    """Any file may be the content of a manifest, but for those that editors make for a moment."""
    return not _TEMPORARY.search(Path(path).name)


def _identity(folders: Sequence[Path]) -> Identity:
    """The folders that are there; one that was removed and made again is another one."""
    found: Identity = {}
    for folder in folders:
        try:
            status = folder.stat()
        except OSError:
            continue
        found[folder] = (status.st_dev, status.st_ino)
    return found
