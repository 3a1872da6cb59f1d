"""Reads that a streaming replica may answer, if what it shows is recent enough.

`PEGBOARD_REPLICA_STALENESS` is the bound: an answer shows everything that was committed on the
primary until that many seconds before it arrived. Each process counts up a row of its own on the
primary. The statement on the replica reads that row in its own snapshot, and
does nothing else if the number is too old. Whatever is in doubt, the primary answers: a replica
that is away, slow, paused or promoted, or a primary that takes no writes.
"""

import os
import time
from collections.abc import Mapping
from functools import lru_cache, partial
from math import inf
from threading import Lock
from typing import Any, Literal
from uuid import UUID, uuid4

import dj_database_url
import structlog
from django.conf import settings
from django.db import Error, InterfaceError, OperationalError, connection, connections
from prometheus_client import Counter

from acl.platform.database_connections import Table, rows_of, table_of
from acl.platform.redis_circuit import CircuitBreaker

# Connection to the read replica, as an entry of Django's DATABASES.

ALIAS = "replica"
# A server that hangs says nothing, and its kernel answers for it. Postgres's client waits no less
# than this for a connection.
PATIENCE_SECONDS = 2
_MILLISECONDS = PATIENCE_SECONDS * 1000


def replica_database(url: str, options: str) -> dict[str, Any]:
    """Return the entry for a URL; `options` are those of the primary's sessions."""
    # No health checks, which are a statement more: where a connection has ended, the primary
    # answers, and the next request opens another one.
    database: dict[str, Any] = dict(
        dj_database_url.parse(url, conn_max_age=600, disable_server_side_cursors=True)
    )
    database["OPTIONS"] = database.get("OPTIONS", {}) | {
        "options": f"{options} -c statement_timeout={_MILLISECONDS}",
        "prepare_threshold": 1_000_000,
        "connect_timeout": PATIENCE_SECONDS,
        "tcp_user_timeout": _MILLISECONDS,
    }
    database["TEST"] = {"MIRROR": "default"}
    return database


# Beats of this process: numbers that it counts up on the primary, and the moment before each.
# A replica that shows a number also shows everything that was committed before that moment, since
# it replays commits in their order. Moments are of this machine's clock alone, so no two
# machines' clocks are compared.

# Time asleep counts, too. Only Linux leaves it out of its other steady clock.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def clock() -> float:
    """Return seconds since the start of the machine."""
    return time.clock_gettime(_CLOCK)


class Beats:
    """Numbers, none of which is given twice: after a failover the primary may have lost some."""

    def __init__(self) -> None:
        self.process: UUID = uuid4()
        self._number = 0
        self._tried_at = -inf
        self._began: dict[int, float] = {}
        self._lock = Lock()

    def begin(self, now: float, *, every: float) -> int | None:
        """Return the number to write, or None where one was begun within `every` seconds.

        It is remembered before it is written. One whose write fails is never seen.
        """
        with self._lock:
            if now - self._tried_at < every:
                return None
            self._tried_at = now
            self._number += 1
            self._began[self._number] = now
            return self._number

    def first_since(self, moment: float) -> int | None:
        """Return the first number that was begun since `moment`, and forget those before."""
        with self._lock:
            self._began = {number: at for number, at in self._began.items() if at >= moment}
            return min(self._began, default=None)

    def age(self, number: int, now: float) -> float:
        """Return the seconds since a number was begun; infinite if it was forgotten."""
        with self._lock:
            return now - self._began.get(number, -inf)


# Some of the last beats may be on their way, or not written.
_BEATS_WITHIN_BOUND = 4
# After a failure, as for Redis: the next request would have to wait for the same.
_REST_SECONDS = 10

# Which server answered, and if it was the primary, why.
Outcome = Literal[
    "replica",
    "transaction",  # which must see what it has written itself
    "no_beat",  # within the bound: the first selection after a pause
    "resting",  # after one of the next
    "too_old",
    "clock_behind",  # of the replica: what has ended by the clock would go on there
    "not_a_replica",
    "unreachable",
]
_PROBLEMS: dict[Outcome, str] = {
    "too_old": "it is further behind than PEGBOARD_REPLICA_STALENESS",
    "clock_behind": "its clock is behind the primary's",
    "not_a_replica": "its server is not in recovery",
    "unreachable": "it does not respond",
}
_BRIEF = frozenset(("too_old", "clock_behind"))

_reads = Counter(
    "pegboard_replica_reads",
    "Reads that the replica may answer, and why the primary did.",
    ["outcome"],
)
log = structlog.get_logger(__name__)


class ReadReplica:
    """The replica, as this process knows it."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew: a forked process needs a row of its own."""
        self.problem = ""  # why the replica was of no use, twice or more
        self._beats = Beats()
        self._failures = CircuitBreaker(1, _REST_SECONDS)
        self._lags = CircuitBreaker(1, _REST_SECONDS)
        self._lock = Lock()

    def table_of(self, statement: str, parameters: Mapping[str, Any]) -> Table | None:
        """Return the rows as the replica has them, or None where the primary has to answer."""
        bound = settings.PEGBOARD_REPLICA_STALENESS
        if not bound or ALIAS not in connections.settings:
            return None
        outcome, table = self._try(statement, parameters, bound)
        _reads.labels(outcome).inc()
        if outcome == "replica" or outcome in _PROBLEMS:
            self._note(outcome, bound)
        return table

    def _try(
        self, statement: str, parameters: Mapping[str, Any], bound: float
    ) -> tuple[Outcome, Table | None]:
        if connection.in_atomic_block:
            return "transaction", None
        now = clock()
        least = self._beats.first_since(now - bound)  # without the one that is begun now
        self._beat(now, bound / _BEATS_WITHIN_BOUND)
        if least is None:
            return "no_beat", None
        if not self._may_ask(now):
            return "resting", None
        beat_parameters = {"beat_process": self._beats.process, "beat_least": least}
        try:
            columns, rows = _ask(_gated(statement), {**parameters, **beat_parameters})
        except Error as problem:
            connections[ALIAS].close()
            log.warning("the read replica failed", reason=_first_line(problem))
            return "unreachable", None
        outcome = self._judge(*rows[0][:_OWN_COLUMNS], least=least, bound=bound)
        if outcome != "replica":
            return outcome, None
        return outcome, Table(columns[_OWN_COLUMNS:], [row[_OWN_COLUMNS:] for row in rows])

    def _may_ask(self, now: float) -> bool:
        with self._lock:
            return self._lags.allows(now) and self._failures.allows(now)

    def _judge(
        self, is_replica: bool, number: int | None, is_later: bool, *, least: int, bound: float
    ) -> Outcome:
        """Judge an answer by its beat, when it has arrived."""
        if not is_replica:
            return "not_a_replica"
        if number is None or number < least or self._beats.age(number, clock()) > bound:
            return "too_old"
        return "replica" if is_later else "clock_behind"

    def _beat(self, now: float, every: float) -> None:
        number = self._beats.begin(now, every=every)
        if number is None:
            return
        beat_parameters = {"beat_process": self._beats.process, "beat_number": number}
        try:
            rows_of(_BEAT, beat_parameters, twice=True, binary=True)
            if number == 1:
                rows_of(_FORGET_OTHERS, {}, twice=True)
        except Error as problem:  # such as a full disk: without a beat, the primary answers
            log.warning("the read replica's beat failed", reason=_first_line(problem))

    def _note(self, outcome: Outcome, bound: float) -> None:
        with self._lock:
            if outcome == "replica":
                self.problem = ""
                self._lags.succeeded()
                self._failures.succeeded()
                return
            # What lags for a moment is asked again soon, and is no problem yet.
            self._lags.rest_seconds = bound / _BEATS_WITHIN_BOUND
            breaker = self._lags if outcome in _BRIEF else self._failures
            if breaker.is_failing:
                self.problem = _PROBLEMS[outcome]
            breaker.failed(clock())


def _first_line(problem: Error) -> str:
    return str(problem).partition("\n")[0]


def _ask(statement: str, parameters: Mapping[str, Any]) -> Table:
    """Run the statement, once more on a new connection if the replica has ended this thread's."""
    wrapper = connections[ALIAS]
    was_open = wrapper.connection is not None
    try:
        return _run(statement, parameters)
    except (OperationalError, InterfaceError):
        # A restart ends the connections of all threads. Each would count as a failure of its own.
        if not was_open or not wrapper.connection.closed:
            raise
    wrapper.close()
    return _run(statement, parameters)


def _run(statement: str, parameters: Mapping[str, Any]) -> Table:
    wrapper = connections[ALIAS]
    if wrapper.connection is None:
        with wrapper.wrap_database_errors:
            wrapper.connect()
        opened: Any = wrapper.connection
        opened.wait = partial(opened.wait, timeout=PATIENCE_SECONDS)
    return table_of(statement, parameters, alias=ALIAS)


@lru_cache(maxsize=64)
def _gated(statement: str) -> str:
    """Return the statement behind a filter that Postgres evaluates once, before anything else."""
    return _GATED.format(statement=statement)


# `beaten_at` is of the primary's clock. A replica's that is behind it by more than the bound would
# still show what has ended by the clock.
_GATED = """WITH beat AS MATERIALIZED (
  SELECT pg_is_in_recovery() AS is_replica, own.number AS beat_number,
         now() >= own.beaten_at AS is_later
  FROM (SELECT 1) always
  LEFT JOIN acl_replicabeat own ON own.process = %(beat_process)s::uuid
)
SELECT beat.*, answer.*
FROM beat LEFT JOIN (
  SELECT * FROM (
{statement}
  ) whole
  WHERE (SELECT is_replica AND is_later AND beat_number >= %(beat_least)s::bigint FROM beat)
  OFFSET 0
) answer ON true
"""
_OWN_COLUMNS = 3  # of `beat`
_BEAT = """
INSERT INTO acl_replicabeat (process, number, beaten_at)
VALUES (%(beat_process)s::uuid, %(beat_number)s::bigint, clock_timestamp())
ON CONFLICT (process) DO UPDATE SET number = EXCLUDED.number, beaten_at = EXCLUDED.beaten_at
RETURNING number
"""
# A process that was idle for so long writes its row again.
_FORGET_OTHERS = """
DELETE FROM acl_replicabeat WHERE beaten_at < now() - interval '1 day' RETURNING number
"""

read_replica = ReadReplica()
os.register_at_fork(after_in_child=read_replica.forget)
