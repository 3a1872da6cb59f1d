"""The client for programs that do other things meanwhile: `client.py`, with `await`."""

import asyncio
import uuid
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self, Unpack

import httpx

from pegboard_client import answers, asking, options
from pegboard_client.asking import Answer, Ask
from pegboard_client.problems import Conflict, InvalidInput, NotFound, PegboardError
from pegboard_client.retrying import Retries
from pegboard_client.sending import Sending, no_answer, read
from pegboard_client.tools import Ran, asked_of
from pegboard_client.waiting import Patience


class AsyncPegboard:
    """Asks one Pegboard with one key, over connections that are kept. Belongs to one event loop.

    `user`, `group` and `space` of each call say for whom; a key that acts for nobody else needs
    none of them.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        timeout: float = 30.0,
        retries: Retries = Retries(),  # noqa: B008 (frozen)
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._sending = Sending(base_url, api_key, timeout, retries)
        self._http = httpx.AsyncClient(transport=transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"AsyncPegboard({self._sending.base_url!r})"

    async def aclose(self) -> None:
        """Let the connections go."""
        await self._http.aclose()

    async def select(
        self, message: str, **said: Unpack[options.SelectOptions]
    ) -> answers.Selection:
        """What fits the message, of what the caller may use."""
        return await self._ask(asking.select(message, said))

    async def plan(self, message: str, **said: Unpack[options.PlanOptions]) -> answers.Plan:
        """The same with a decision, for a turn whose outcome will be told."""
        return await self._ask(asking.plan(message, said))

    async def discover(
        self, message: str, **said: Unpack[options.DiscoverOptions]
    ) -> answers.Discovery:
        """The same in three tiers of text."""
        return await self._ask(asking.discover(message, said))

    async def execute(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        turn_id: str | None = None,
        idempotency_key: str | None = None,
        wait: float = 60.0,
        approval_wait: float = 0.0,
        **caller: Unpack[options.Caller],
    ) -> answers.Call:
        """Call a capability once, and wait for what comes of it: so many seconds while it runs, and
        while a person looks at it. Time that is up is no error: the status says how it stands."""
        key = idempotency_key or str(uuid.uuid4())
        try:
            call: answers.Call = await self._ask(
                asking.execute(name, arguments, turn_id, key, caller)
            )
        except Conflict as conflict:
            call = await self.call(asking.call_under_way(conflict))
        return await self.wait_for(call, wait=wait, approval_wait=approval_wait)

    async def wait_for(
        self, call: answers.Call, *, wait: float = 60.0, approval_wait: float = 0.0
    ) -> answers.Call:
        """The call as soon as it has ended, or as it stands when time is up."""
        patience = Patience({"running": wait, "approval_needed": approval_wait})
        while seconds := patience.next_look(call["status"]):
            call = await self.call(call["call_id"], wait=seconds)
        return call

    async def call(self, call_id: str, *, wait: float = 0.0) -> answers.Call:
        """How a call stands; with `wait`, its end within so many seconds (60 at most)."""
        return await self._ask(asking.call(call_id, wait))

    async def cancel(self, call_id: str) -> answers.Call:
        """Take a call back that has not begun; Conflict where it has."""
        return await self._ask(asking.cancel(call_id))

    async def run_tool(
        self,
        offer: answers.Offer,
        name: str,
        arguments: Mapping[str, Any],
        *,
        wait: float = 60.0,
        approval_wait: float = 0.0,
        **caller: Unpack[options.Caller],
    ) -> Ran:
        """Do what a model asks for by a tool of the plan or selection. What it asks wrongly is told
        to it, and raises nothing."""
        asked, turn_id = asked_of(offer, name, arguments), offer["turn_id"]
        try:
            if asked.is_meta:
                found = await self.meta(asked.name, asked.arguments, turn_id=turn_id, **caller)
                return Ran.of_meta(found)
            call = await self.execute(
                asked.name,
                asked.arguments,
                turn_id=turn_id,
                wait=wait,
                approval_wait=approval_wait,
                **caller,
            )
        except (InvalidInput, NotFound) as problem:
            return Ran.refused(problem)
        return Ran.of_call(call)

    async def turn(self, turn_id: str) -> answers.Turn:
        """How a turn stands."""
        return await self._ask(asking.turn(turn_id))

    async def start(self, turn_id: str) -> answers.Turn:
        """Say that a turn begins; may be left out."""
        return await self._ask(asking.start(turn_id))

    async def outcome(self, turn_id: str, **told: Unpack[options.Told]) -> answers.Reported:
        """Say how a turn went, once; what is not told, Pegboard works out from what was called."""
        return await self._ask(asking.outcome(turn_id, told))

    async def capabilities(self, **filters: Unpack[options.Filters]) -> answers.CapabilityPage:
        """A page of what the caller may use."""
        return await self._ask(asking.capabilities(filters))

    async def capability(
        self, full_name: str, **said: Unpack[options.Shown]
    ) -> answers.OneCapability:
        """One capability; NotFound alike for an unknown name and for somebody else's."""
        return await self._ask(asking.capability(full_name, said))

    async def meta_tools(self) -> answers.MetaTools:
        """The tools that Pegboard itself answers."""
        return await self._ask(asking.meta_tools())

    async def meta(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        turn_id: str | None = None,
        **caller: Unpack[options.Caller],
    ) -> answers.MetaAnswer:
        """Call one of them."""
        return await self._ask(asking.meta(name, arguments, turn_id, caller))

    async def _ask(self, ask: Ask[Answer]) -> Answer:
        tried = 0
        while True:
            tried += 1
            try:
                return await self._once(ask)
            except PegboardError as error:
                pause = self._sending.retries.pause_after(error, ask, tried)
                if pause is None:
                    raise
            await asyncio.sleep(pause)

    async def _once(self, ask: Ask[Answer]) -> Answer:
        try:
            answer: Answer = read(await self._http.send(self._sending.request_for(ask)))
        except httpx.RequestError as error:
            raise no_answer(ask, error) from error
        return answer
