"""The two kinds of workers, of which only one embeds."""

from types import SimpleNamespace

import pytest

from acl.platform.processes import KEY, note_heartbeat, worker_lives
from acl.platform.redis_circuit import attempt, redis_circuit


@pytest.mark.parametrize(("hostname", "lives"), [("servers@host", False), ("celery@host", True)])
def test_who_keeps_connections_does_not_count_as_worker(hostname: str, lives: bool) -> None:
    redis_circuit.close()
    attempt(lambda redis: redis.delete(KEY), default=0)

    note_heartbeat(sender=SimpleNamespace(eventer=SimpleNamespace(hostname=hostname)))

    assert worker_lives() is lives
