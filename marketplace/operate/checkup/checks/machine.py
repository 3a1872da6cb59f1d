"""Checks of the machine: disk, memory, clock, and the parts of `make run`."""

import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from acl.platform.database_work import was_short_of_room
from acl.platform.redis_circuit import attempt
from marketplace.operate.checkup.registry import CheckFinding, check
from marketplace.operate.embedded.disk_guard import describe_broken_part, read_broken_parts

# Postgres needs free space to finish its work: one WAL segment alone has 16 MB.
LEAST_FREE_BYTES = 200 * 1024**2
ENOUGH_FREE_BYTES = 1024**3
MOST_SECONDS_APART = 5.0
WEB_MEGABYTES = 260  # of a web process; docs/running.md says so
UNLIMITED = 2**60  # bytes; the first version of control groups has no word for it
GROUP = Path("/sys/fs/cgroup")  # a container sees its own control group here


@check("disk", gettext_lazy("Disk"), topic="operations", for_readiness=True)
def disk() -> CheckFinding:
    """Look for room in the database and the data folder: 200 MB, or 1 GB as advice."""
    remedy = _("Free disk space, or enlarge the disk.")
    if was_short_of_room():
        return CheckFinding(
            _("The database is out of disk space. Reading still works; free disk space to write."),
            remedy,
        )
    try:
        free = shutil.disk_usage(settings.PEGBOARD_DATA_DIR).free
    except OSError:  # nothing has been stored there yet
        return CheckFinding()
    if free >= ENOUGH_FREE_BYTES:
        return CheckFinding()
    room = {"megabytes": free // 1024**2}
    problem = _("The disk of PEGBOARD_DATA_DIR has only %(megabytes)d MB left.") % room
    return CheckFinding(problem, remedy, is_advice=free >= LEAST_FREE_BYTES)


@check("memory", gettext_lazy("Memory"), topic="running#containers")
def memory() -> CheckFinding:
    """Look for processes that the system has killed, and a container below 260 MB each."""
    killed = _read_number(("memory.events", "memory/memory.oom_control"), "oom_kill")
    limit = _read_number(("memory.max", "memory/memory.limit_in_bytes")) // 1024**2
    needed = int(os.environ.get("WEB_CONCURRENCY") or 2) * WEB_MEGABYTES
    facts = {"count": killed, "limit": limit, "needed": needed}
    remedy = _("Raise the memory limit of the container, or lower WEB_CONCURRENCY.")
    if killed:
        problem = ngettext(
            "The system has killed %(count)d process here, for want of memory.",
            "The system has killed %(count)d processes here, for want of memory.",
            killed,
        )
        return CheckFinding(problem % facts, remedy)
    if 0 < limit < needed:
        problem = _("The web processes need some %(needed)d MB, and the limit is %(limit)d MB.")
        return CheckFinding(problem % facts, remedy, is_advice=True)
    return CheckFinding()


def _read_number(files: Sequence[str], name: str = "") -> int:
    """Return a number of the control group, of either version; 0 for none and no limit."""
    for file in files:
        try:
            text = (GROUP / file).read_text()
        except OSError:
            continue
        if name:
            text = dict(line.split(" ", 1) for line in text.splitlines()).get(name, "0")
        number = int(text) if text.strip().isdecimal() else 0
        return number if number < UNLIMITED else 0
    return 0


@check("clock", gettext_lazy("Clock"), topic="operations")
def clock() -> CheckFinding:
    """Look for more than 5 seconds between this machine, Postgres and Redis."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())")
        clocks = {"Postgres": float(cursor.fetchone()[0]) - time.time()}
    redis_time = attempt(lambda redis: redis.time(), default=None)
    if redis_time:
        clocks["Redis"] = redis_time[0] + redis_time[1] / 1_000_000 - time.time()
    for place, apart in clocks.items():
        if abs(apart) > MOST_SECONDS_APART:
            words = _("The clock here and that of %(place)s are %(seconds)d seconds apart.")
            remedy = _(
                "Let all machines take the time from NTP, or keys, codes and terms end at wrong "
                "times."
            )
            return CheckFinding(words % {"seconds": round(abs(apart)), "place": place}, remedy)
    return CheckFinding()


@check("processes", gettext_lazy("Processes"), topic="running#processes", for_readiness=True)
def processes() -> CheckFinding:
    """Look for parts of `make run` that are down; elsewhere somebody else watches processes."""
    broken = read_broken_parts(Path(settings.PEGBOARD_DATA_DIR))
    sentences = [describe_broken_part(name, part) for name, part in broken.items()]
    remedy = _("It is started again by itself. Its log in the folder `logs` says more.")
    return CheckFinding(" ".join(sentences), remedy) if sentences else CheckFinding()
