"""From one state of a call to the next: whoever is second, late or mistaken moves nothing."""

from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from redis import Redis

from acl.redis_circuit import attempt
from discovery.models import Call
from discovery.waiting import tell_waiters

QUEUE = "pegboard:calls"
# A call that no worker took in this time is not begun any more: nobody expects it by then.
BEGIN_WITHIN_SECONDS = 600


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
    """One word on a list; where Redis is away, the sweep sends it later."""

    def push(redis: Redis) -> None:
        pipeline = redis.pipeline(transaction=False)
        pipeline.rpush(QUEUE, pk)
        pipeline.expire(QUEUE, BEGIN_WITHIN_SECONDS)
        pipeline.execute()

    attempt(push, default=None)
