"""Celery tasks and signals of calls, in the worker that holds the connections."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from functools import partial
from uuid import UUID

import structlog
from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down
from django.conf import settings
from django.db import DatabaseError
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from acl.platform.database_work import retry_on_lost_connection
from acl.platform.jobs import GAVE_UP, GAVE_UP_MESSAGE, claim_overdue, overdue
from acl.platform.processes import freeze_loaded_objects
from acl.platform.task_names import SWEEP_CALLS
from catalog.capabilities.runtime_state import note_tried
from discovery.calls._audience import running_calls
from discovery.calls._policy import apply_policies
from discovery.calls.approval_queue import withdraw_calls
from discovery.calls.channel import LISTEN_SECONDS, PAUSE_SECONDS, ChannelListener, ListenerThread
from discovery.calls.state import NOT_BEGUN, QUEUE, UNKNOWN_OUTCOME, move, send_call, unexpired
from discovery.calls.worker import start_call
from discovery.flow_guard.turn_memory import forget_old_turns
from discovery.models import Call

# The call listener: one thread takes call ids from a Redis list, several start the calls.
#
# Celery tasks would cost more CPU time than the rest of a call. A lost id does no harm: the row is
# the call, and the sweeper sends the id again.

_THREADS = 8
log = structlog.get_logger(__name__)


class Listener(ListenerThread):
    """Takes calls from the queue and starts each in a thread that does not wait for its server."""

    def __init__(self, work: Callable[[UUID], None] = start_call, queue: str = QUEUE) -> None:
        super().__init__("calls")
        self._work = work
        self._queue = queue

    def _listen(self) -> None:
        redis = Redis.from_url(
            settings.REDIS_URL,
            socket_timeout=LISTEN_SECONDS + 1,
            socket_connect_timeout=1,
            retry=Retry(NoBackoff(), 0),
        )
        self._redis = redis
        with redis, ThreadPoolExecutor(_THREADS, thread_name_prefix="sending") as threads:
            while not self._over.is_set():
                try:
                    taken = redis.blpop([self._queue], timeout=LISTEN_SECONDS)
                except (RedisError, OSError):
                    self._over.wait(PAUSE_SECONDS)
                    continue
                if isinstance(taken, list | tuple):
                    threads.submit(self._begin, taken[1])

    def _begin(self, message: bytes | str) -> None:
        with suppress(ValueError):  # not a call id
            pk = UUID(message.decode() if isinstance(message, bytes) else message)
            try:
                retry_on_lost_connection(partial(self._work, pk))
            except Exception:
                log.exception("call could not be started", call=str(pk))


# The sweeper: resends, gives up, withdraws, expires and deletes calls by the database's clock.

State = Call.State
MOST_ATTEMPTS = 3
# Time to connect, wait for a slot, and call: longer than any call that is still alive takes.
_GRACE_SECONDS = 60
_MOST_AT_ONCE = 1000


def sweep() -> list[str]:
    """Run all steps; return the ids of calls to send again."""
    for call in _list_calls(Q(state__in=(State.WAITING, State.QUEUED)) & ~unexpired()):
        waited = call.state == State.WAITING
        why = "Nobody approved it in time." if waited else "It could not be started in time."
        move(call, State.EXPIRED, reason=NOT_BEGUN, message=f"{why} Nothing has been run.")
    withdraw_calls()
    longest = max(settings.PEGBOARD_CALL_SECONDS, settings.PEGBOARD_PROGRESS_SECONDS)
    seconds = settings.PEGBOARD_CALL_SECONDS + longest + _GRACE_SECONDS
    asking = seconds + settings.PEGBOARD_ASK_SECONDS  # a person may be thinking
    _give_up(
        Q(state=State.RUNNING, started_at__lt=Now() - timedelta(seconds=seconds))
        & (Q(dialogue=None) | Q(started_at__lt=Now() - timedelta(seconds=asking)))
    )
    # Mark runtime capabilities as tried once a call of their present definition completed.
    completed = Call.objects.filter(
        capability=OuterRef("pk"),
        definition_hash=OuterRef("definition_hash"),
        state=State.COMPLETED,
    )
    note_tried(Exists(completed))
    apply_policies(most=_MOST_AT_ONCE)
    forget_old_turns()
    queued = Call.objects.filter(overdue(), state=State.QUEUED).order_by("sent_at")
    return [str(key) for key in claim_overdue(queued[:_MOST_AT_ONCE])]


def _give_up(lost: Q) -> None:
    """Resolve calls whose worker died: retry reads, mark the outcome of all others as unknown."""
    for call in _list_calls(lost):
        if call.side_effect != "read":
            move(call, State.UNKNOWN, reason=GAVE_UP, message=UNKNOWN_OUTCOME)
        elif call.attempts < MOST_ATTEMPTS:
            move(call, State.QUEUED, sent_at=Now() - timedelta(days=1))
        else:
            move(call, State.FAILED, reason=GAVE_UP, message=GAVE_UP_MESSAGE)


def _list_calls(which: Q) -> list[Call]:
    return list(Call.objects.filter(which).order_by("created_at", "pk")[:_MOST_AT_ONCE])


_listener = Listener()
_clients = ChannelListener(running_calls.hear)


@shared_task(name=SWEEP_CALLS)  # type: ignore[untyped-decorator]
def sweep_calls() -> None:
    """Sweep stale calls and send overdue ones again."""
    for pk in sweep():
        send_call(pk)


def end_orphans() -> None:
    """Resolve the calls of the process before: it died, or this one would still be on standby."""
    _give_up(Q(state=State.RUNNING))
    sweep_calls()


@worker_ready.connect(dispatch_uid="pegboard-calls")  # type: ignore[untyped-decorator]
def start_listener(**_: object) -> None:
    """Start the call listener with the worker."""
    freeze_loaded_objects()
    try:
        end_orphans()
    except DatabaseError:  # the sweep finds them later
        log.exception("calls of the process before could not be ended")
    _clients.start()
    _listener.start()


@worker_shutting_down.connect(dispatch_uid="pegboard-calls")  # type: ignore[untyped-decorator]
def stop_listener(**_: object) -> None:
    """Stop taking calls; running ones finish before the connections close."""
    _listener.stop()
    _clients.stop()
