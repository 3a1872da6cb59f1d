"""Quotas count what a server got, however its call ended."""

import random
import threading
from typing import Any
from uuid import UUID

import pytest

from acl.rights.caller_lookup import Caller
from catalog.servers.connections._session_pool import ConnectionPool
from catalog.servers.net.address_check import AllowedHosts
from discovery.calls import worker
from discovery.calls._audience import running_calls
from discovery.calls.execution import begin
from discovery.calls.queries import cancel_call
from discovery.calls.quotas import QuotaExceededError, count_use, set_quota
from discovery.models import Call
from tests.access.people import People
from tests.calls.worker import run_call
from tests.connection_loops import own_connections
from tests.connections.http_limits import QUICK
from tests.connections.scripted import Message, ScriptedServer, scripted_server
from tests.factories import CapabilityFactory, IntegrationFactory, give

LOOPBACK = AllowedHosts.of([("127.0.0.1", None)])
SECONDS = 20
DIALOGUE: dict[str, Any] = {"capabilities": [], "answers": {}}


class Counting:
    """Script of a counting server. Slow calls are answered when they may be."""

    def __init__(self) -> None:
        self.got = 0
        self.arrived, self.may_answer = threading.Event(), threading.Event()
        self.is_over = threading.Event()

    def __call__(self, server: ScriptedServer, message: Message) -> None:
        if message["method"] != "tools/call":
            return
        self.got += 1
        if message["params"]["arguments"].get("slow"):
            self.arrived.set()
            self.may_answer.wait(SECONDS)

    def cancel_once_it_came(self, pk: UUID) -> None:
        assert self.arrived.wait(SECONDS)
        for _ in range(SECONDS * 100):  # it may be noted only now
            running_calls.hear(pk, {"cancel": True})
            if self.is_over.wait(0.01):
                return


@pytest.mark.parametrize("seed", range(4))
def test_calls_that_were_sent_count_though_they_were_cancelled(people: People, seed: int) -> None:
    chance, script = random.Random(seed), Counting()
    with (
        scripted_server(script) as server,
        own_connections(lambda: ConnectionPool(limits=QUICK, allowed=LOOPBACK)),
    ):
        integration = IntegrationFactory.create(transport="http", endpoint=server.url)
        give(integration, people.support)
        tools = [
            CapabilityFactory.create(integration=integration, action=effect, side_effect=effect)
            for effect in ("read", "write")
        ]
        quota = set_quota(by=None, measure="calls", soft=None, hard=99, user=people.alice)
        for _ in range(8):
            way = chance.choice(["answered", "cancelled before", "cancelled", "cancelled"])
            _call(people, chance.choice(tools).full_name, way, script)
            [use] = count_use([quota], user_id=people.alice.pk)
            assert use.used == script.got, way
        set_quota(by=None, measure="calls", soft=None, hard=script.got, user=people.alice)
        with pytest.raises(QuotaExceededError):
            _call(people, tools[0].full_name, "answered", script)
        script.may_answer.set()


def _call(people: People, full_name: str, way: str, script: Counting) -> None:
    caller = Caller(people.alice.pk, people.support.pk)
    arguments = {"slow": way == "cancelled"}
    begun = begin(caller=caller, full_name=full_name, arguments=arguments, dialogue=DIALOGUE)
    script.arrived.clear()
    script.is_over.clear()
    if way == "cancelled before":
        cancel_call(by=people.alice, call=begun.call)
        return
    if way == "cancelled":
        cancelling = threading.Thread(target=script.cancel_once_it_came, args=[begun.call.pk])
        cancelling.start()
        run_call(begun.call.pk)
        script.is_over.set()
        cancelling.join()
        ended = Call.objects.get(pk=begun.call.pk)
        assert ended.state in ("cancelled", "unknown")
        return
    run_call(begun.call.pk)
    assert worker.State(Call.objects.get(pk=begun.call.pk).state) == "completed"
