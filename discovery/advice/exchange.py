"""Questions and answers on their way between the web and the worker that goes out.

They pass through Redis for minutes, sealed, and by a digest: an answer is used again for the same
question. A model that fails or is late is left alone for a while, so that nobody waits for it.
"""

import time
from dataclasses import asdict
from functools import partial

from cryptography.exceptions import InvalidTag
from django.utils.crypto import salted_hmac
from redis import Redis

from acl.platform.jobs.task_names import ANSWER_ADVICE, send_now
from acl.platform.redis_circuit import attempt
from acl.platform.strict_json import parse_json, write_json
from discovery.advice.questions import AdviceQuestion
from discovery.flow_guard.turn_memory import KEY_BYTES, decrypt, encrypt
from discovery.models import AdvicePolicy

ANSWER_SECONDS, REST_SECONDS = 600, 20
_EACH = 0.01  # seconds between looks
_NAME = "pegboard:advice:"


def ask(policy: AdvicePolicy, question: AdviceQuestion, *, until: float) -> str | None:
    """Return the model's answer; None where there is none by `until` (a monotonic time)."""
    content = write_json({"policy": policy.pk, **asdict(question)})
    digest = salted_hmac(_NAME, f"{policy.model_id} {policy.model.model_id} {content}").hexdigest()
    if (answer := read_answer(digest)) is not None:
        return answer
    if attempt(lambda redis: redis.exists(_rest(policy)), default=1):
        return None
    seconds = max(1, round(until - time.monotonic() + 0.5))
    put = partial(_put, f"question:{digest}", content, seconds)
    if not attempt(put, default=False) or not send_now(ANSWER_ADVICE, digest):
        return None
    while time.monotonic() < until:
        if (answer := read_answer(digest)) is not None:
            return answer
        if attempt(lambda redis: redis.exists(_rest(policy)), default=1):
            return None
        time.sleep(_EACH)
    leave_alone(policy)
    return None


def read_question(digest: str) -> tuple[int, AdviceQuestion] | None:
    """Return a policy's key and the question to it; None where nobody waits any more."""
    content = _get(f"question:{digest}")
    if content is None:
        return None
    values = parse_json(content.encode(), max_depth=2)
    return values.pop("policy"), AdviceQuestion(**values)


def read_answer(digest: str) -> str | None:
    """Return the answer to a question; None where there is none."""
    return _get(f"answer:{digest}")


def put_answer(digest: str, answer: str) -> None:
    """Keep an answer for who waits and for who asks the same."""
    attempt(partial(_put, f"answer:{digest}", answer, ANSWER_SECONDS), default=False)


def leave_alone(policy: AdvicePolicy) -> None:
    """Ask the policy's model nothing for a while."""
    attempt(lambda redis: redis.set(_rest(policy), 1, ex=REST_SECONDS), default=None)


def _rest(policy: AdvicePolicy) -> str:
    return f"{_NAME}rest:{policy.model_id}"


def _key() -> bytes:
    return salted_hmac(_NAME, "sealing").digest()[:KEY_BYTES]


def _put(name: str, content: str, seconds: int, redis: Redis) -> bool:
    sealed = encrypt(_key(), content.encode(), name.encode())
    return bool(redis.set(_NAME + name, sealed, ex=seconds))


def _get(name: str) -> str | None:
    sealed = attempt(lambda redis: redis.get(_NAME + name), default=None)
    if not isinstance(sealed, bytes):
        return None
    try:
        return decrypt(_key(), sealed, name.encode()).decode()
    except (InvalidTag, ValueError):
        return None
