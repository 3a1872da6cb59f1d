"""From one state of a call to the next: whoever is second, late or mistaken moves nothing."""

from functools import partial
from typing import Any

import structlog
from celery import current_app
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from kombu.exceptions import KombuError

from acl.redis_circuit import attempt, redis_circuit
from discovery.models import Call
from discovery.waiting import tell_waiters

TASK = "servers.call"
# A call that no worker took in this time is not begun any more: nobody expects it by then.
BEGIN_WITHIN_SECONDS = 600
log = structlog.get_logger(__name__)


def move(call: Call, to: Call.State, *only_if: Q, **values: Any) -> bool:
    """Move on from the state that the caller has seen; False where it is another by now."""
    if to in Call.ENDED:
        values["ended_at"] = Now()
    seen = Call.objects.filter(*only_if, pk=call.pk, state=call.state, attempts=call.attempts)
    if not seen.update(state=to, **values):
        return False
    call.state = to
    if to in Call.ENDED:
        transaction.on_commit(partial(tell_waiters, call.pk), robust=True)
    return True


def unexpired() -> Q:
    """What may still begin, by the database's clock."""
    return Q(expires_at__isnull=True) | Q(expires_at__gt=Now())


def send_on_commit(call: Call) -> None:
    """Ask the process that holds the connections, once the row is there for it to see."""
    transaction.on_commit(partial(send_call, str(call.pk)), robust=True)


def send_call(pk: str) -> None:
    """Where the queue is away, the sweep asks later."""
    if redis_circuit.failing and not attempt(lambda redis: bool(redis.ping()), default=False):
        return
    try:
        current_app.send_task(TASK, [pk])
    except (KombuError, OSError):
        attempt(lambda redis: redis.ping(), default=None)  # the next call need not find it out
        log.warning("queue is away", call=pk, exc_info=True)


def under_way() -> QuerySet[Call]:
    """What a worker has to do with."""
    return Call.objects.filter(state__in=Call.UNDER_WAY)
