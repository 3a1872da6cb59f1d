import time

import pytest
from redis import ConnectionError as RedisAway
from redis import Redis

from acl.platform.redis_circuit import RedisCircuit


class Flaky:
    """A call to Redis, counting its attempts and failing while Redis is down."""

    def __init__(self) -> None:
        self.away = True
        self.calls = 0

    def __call__(self, redis: Redis) -> str:
        self.calls += 1
        if self.away:
            raise RedisAway
        return "answer"


@pytest.fixture
def call() -> Flaky:
    return Flaky()


def test_circuit_opens_after_three_failures(call: Flaky) -> None:
    circuit = RedisCircuit()

    answers = [circuit.attempt(call, default="none") for _ in range(10)]

    assert (answers, call.calls) == (["none"] * 10, 3)


def test_one_call_tries_again_after_the_rest(call: Flaky) -> None:
    circuit = RedisCircuit(failures=1, rest_seconds=0.05)
    for _ in range(3):
        circuit.attempt(call, default="none")

    time.sleep(0.06)
    circuit.attempt(call, default="none")

    assert call.calls == 2


def test_circuit_closes_with_the_first_answer(call: Flaky) -> None:
    circuit = RedisCircuit(rest_seconds=0)
    for _ in range(5):
        circuit.attempt(call, default="none")
    call.away = False

    answers = [circuit.attempt(call, default="none") for _ in range(3)]

    assert answers == ["answer"] * 3


def test_mistake_of_the_caller_is_not_taken_for_an_absent_redis() -> None:
    def mistaken(redis: Redis) -> str:
        raise KeyError("ours")

    with pytest.raises(KeyError):
        RedisCircuit().attempt(mistaken, default="none")
