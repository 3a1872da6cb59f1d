"""Work with the database: its clock, locks beyond a transaction, and failures to outlive."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TypeVar

import pglock
import structlog
from django.core.cache import cache
from django.db import DatabaseError, InterfaceError, InternalError, OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.translation import gettext_noop

# The database's clock, by which expiry is decided.


def database_now() -> datetime:
    """Return the database's time; within a transaction the time of its start."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        now: datetime = cursor.fetchone()[0]
    return now


# Advisory locks for work that is longer than its transactions.


@contextmanager
def try_lock(name: str) -> Iterator[bool]:
    """Hold the lock of that name; yield False, without waiting, if another process holds it.

    Postgres releases it if this process dies.
    """
    lease = Lease(name)
    try:
        yield lease.take()
    finally:
        lease.release()


# By this name a restore knows the sessions for which it need not wait.
LEASE_SESSION = "pegboard-lease"
_SAY_LEASE = "SELECT set_config('application_name', %s, true)"


class Lease:
    """A lock for as long as this process lives, by which one of several does a job.

    Postgres releases it when the process dies. A machine that vanishes closes no connection, but
    Postgres misses it within half a minute.
    """

    def __init__(self, name: str) -> None:
        self._key = lock_key(name)
        self._holder: BaseDatabaseWrapper | None = None

    def hold(self) -> bool | None:
        """Take the lease, or confirm it. False if another process has it, None without Postgres."""
        try:
            if self._holder is None and not self.take():
                return False
            if self._holder is not None:
                with self._holder.cursor() as cursor:
                    cursor.execute(_SAY_LEASE, [LEASE_SESSION])
        except (DatabaseError, InterfaceError):
            self.release()
            return None
        return True

    def take(self) -> bool:
        """Take the lease unless another process has it. Raises DatabaseError."""
        # A lock of the session would stay with a connection that a pooler gives to other clients.
        self._holder = holder = connection.copy()
        holder.inc_thread_sharing()
        holder.set_autocommit(False)
        with holder.cursor() as cursor:
            cursor.execute(
                "SET LOCAL idle_in_transaction_session_timeout = 0;"
                "SET LOCAL tcp_keepalives_idle = 10;"
                "SET LOCAL tcp_keepalives_interval = 5;"
                "SET LOCAL tcp_keepalives_count = 3"
            )
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [self._key])
            (acquired,) = cursor.fetchone()
        if not acquired:
            self.release()
        return bool(acquired)

    def release(self) -> None:
        """Release it for another process."""
        if (holder := self._holder) is not None:
            self._holder = None
            with suppress(DatabaseError, InterfaceError):
                holder.rollback()
            holder.close()


def lock_key(name: str) -> int:
    """Return Postgres's key for the lock of that name."""
    return pglock.advisory(name).int_lock_id


# Failures of the database that requests and workers outlive: a full disk, a lost connection.
#
# With a full disk reading goes on, and writing recovers once space is freed.

Result = TypeVar("Result")
SECONDS_TO_RETRY = 30
NO_ROOM = "no-room"
WORDS = gettext_noop(
    "Pegboard's database is out of disk space, so nothing was saved. Reading still works. "
    "Try again later; an admin must free disk space."
)
# insufficient_resources, disk_full, out_of_memory, configuration_limit_exceeded; not
# too_many_connections, which says nothing about writing. The last is read_only_sql_transaction: the
# supervisor holds writes before the disk is full, since Postgres stops when its log finds no room.
_STATES = frozenset({"53000", "53100", "53200", "53400", "25006"})
LACKING_ROOM = (OperationalError, InternalError)  # what Django makes of these states
KEY = "pegboard:database-has-no-room"
_NOTED_SECONDS = 60

log = structlog.get_logger(__name__)


def lacks_room(error: BaseException) -> bool:
    """Return whether a database error says that there is no room to write."""
    cause = error.__cause__ or error
    return isinstance(error, LACKING_ROOM) and getattr(cause, "sqlstate", "") in _STATES


def write_if_room(write: Callable[[], Result], *, otherwise: Callable[[], Result]) -> Result:
    """Run a write that the answer can do without, or `otherwise` where there is no room for it.

    Inside a transaction the error passes: Postgres has ended the transaction by then.
    """
    try:
        return write()
    except DatabaseError as error:
        if connection.in_atomic_block or not lacks_room(error):
            raise
        note_missing_room(error)
        return otherwise()


def note_missing_room(error: BaseException) -> None:
    """Log the error and remember it for a minute, for every process that is asked by /readyz."""
    log.error("the database is out of disk space", exc_info=error)
    cache.set(KEY, True, timeout=_NOTED_SECONDS)


def was_short_of_room() -> bool:
    """Return whether a write was refused for want of room within the last minute."""
    return bool(cache.get(KEY))


def retry_on_lost_connection(work: Callable[[], None]) -> None:
    """Run `work`, retrying once on a fresh connection. `work` must be idempotent.

    For threads that keep their connection from call to call. Django checks a connection before each
    request, which costs a statement for each part of a call; here the work itself finds out.
    """
    try:
        work()
    except (OperationalError, InterfaceError):
        connection.close()
        work()
