"""Answers to what a task's server asks, until there are all of them, and when it is asked.

They are in Redis, as what a running call's client answers is. If they are lost, the client sees
the questions again.
"""

import json
from typing import Any, cast

from redis import Redis

from acl.platform.redis_circuit import attempt
from acl.platform.strict_json import write_json
from catalog.formats.descriptors import JSONObject
from discovery.models import Call

_KEPT_SECONDS = 24 * 3600
# Official clients differ: some open `tasks/result` as soon as a task asks, others only poll.
_ASKED_AT_POLL = 3
_POLLS = "pegboard:task:{}:polls"
_ABANDONED = "pegboard:task:{}:cancelled"
_ANSWERS = "pegboard:task:{}:answers"


def keep_answers(call: Call, answers: JSONObject) -> None:
    """Keep some answers to a call's questions."""
    key = _ANSWERS.format(call.pk.hex)
    texts = {name: write_json(answer) for name, answer in answers.items()}

    def keep(redis: Redis) -> None:
        pipeline = redis.pipeline(transaction=False)
        for name, text in texts.items():
            pipeline.hset(key, name, text)
        pipeline.expire(key, _KEPT_SECONDS)
        pipeline.execute()

    attempt(keep, default=None)


def kept_answers(call: Call) -> JSONObject:
    """Return the answers to a call's questions so far."""
    key = _ANSWERS.format(call.pk.hex)
    texts: Any = attempt(lambda redis: cast(Any, redis.hgetall(key)), default={})
    return {name.decode(): json.loads(text) for name, text in texts.items()}


def is_asked_now(call: Call, question: str) -> bool:
    """Count a poll that found this question open; return True with the third: its client opens no
    stream for it. It is never True again, so that nobody is asked twice."""
    key = _POLLS.format(call.pk.hex)

    def count(redis: Redis) -> int:
        pipeline = redis.pipeline(transaction=False)
        pipeline.hincrby(key, question, 1)
        pipeline.expire(key, _KEPT_SECONDS)
        return int(pipeline.execute()[0])

    return attempt(count, default=0) == _ASKED_AT_POLL


def abandon(call: Call) -> None:
    """Note that the client answers no more: it has cancelled the task."""
    key = _ABANDONED.format(call.pk.hex)
    attempt(lambda redis: redis.set(key, b"1", ex=_KEPT_SECONDS), default=None)


def is_abandoned(call: Call) -> bool:
    """Return True if the client has cancelled the task instead of answering."""
    key = _ABANDONED.format(call.pk.hex)
    return bool(attempt(lambda redis: redis.exists(key), default=0))
