"""The asynchronous client: `client.py` with `await`."""

import asyncio
import uuid
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self, Unpack

import httpx

from pegboard_client import answers, api_request, options
from pegboard_client.api_request import Answer, ApiRequest
from pegboard_client.problems import Conflict, InvalidInput, NotFound, PegboardError
from pegboard_client.retries import Retries
from pegboard_client.tools import Ran, resolve_tool_call
from pegboard_client.transport import Transport, no_answer, read_answer
from pegboard_client.wait_limits import WaitLimits


class AsyncPegboard:
    """A client of one Pegboard with one key and a connection pool, for one event loop.

    Each method takes `user`, `group` and `space` of the caller; a key that acts for no others needs
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
        self._transport = Transport(base_url, api_key, timeout, retries)
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
        return f"AsyncPegboard({self._transport.base_url!r})"

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def select(
        self, message: str, **fields: Unpack[options.SelectOptions]
    ) -> answers.Selection:
        """Select the caller's capabilities that match the message."""
        return await self._send(api_request.select(message, fields))

    async def plan(self, message: str, **fields: Unpack[options.PlanOptions]) -> answers.Plan:
        """Plan a turn: select capabilities, or choose a fallback."""
        return await self._send(api_request.plan(message, fields))

    async def discover(
        self, message: str, **fields: Unpack[options.DiscoverOptions]
    ) -> answers.Discovery:
        """Select in three tiers of text."""
        return await self._send(api_request.discover(message, fields))

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
        """Call a capability once, and wait up to `wait` seconds for its result, and up to
        `approval_wait` seconds for its approval. A timeout raises nothing: see the status."""
        key = idempotency_key or str(uuid.uuid4())
        try:
            call: answers.Call = await self._send(
                api_request.execute(name, arguments, turn_id, key, caller)
            )
        except Conflict as conflict:
            call = await self.call(api_request.call_under_way(conflict))
        return await self.wait_for(call, wait=wait, approval_wait=approval_wait)

    async def wait_for(
        self, call: answers.Call, *, wait: float = 60.0, approval_wait: float = 0.0
    ) -> answers.Call:
        """Wait until the call ends or the time is up; return its latest state."""
        limits = WaitLimits({"running": wait, "approval_needed": approval_wait})
        while seconds := limits.next_wait(call["status"]):
            call = await self.call(call["call_id"], wait=seconds)
        return call

    async def call(self, call_id: str, *, wait: float = 0.0) -> answers.Call:
        """Return a call; with `wait`, once it ends or after so many seconds (60 at most)."""
        return await self._send(api_request.call(call_id, wait))

    async def cancel(self, call_id: str) -> answers.Call:
        """Cancel a call. Raises Conflict if it has started."""
        return await self._send(api_request.cancel(call_id))

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
        """Run a tool that a model calls by its name in the plan or selection. Mistakes of the model
        are returned to it and not raised."""
        tool_call, turn_id = resolve_tool_call(offer, name, arguments), offer["turn_id"]
        try:
            if tool_call.is_meta:
                found = await self.meta(
                    tool_call.name, tool_call.arguments, turn_id=turn_id, **caller
                )
                return Ran.of_meta(found)
            call = await self.execute(
                tool_call.name,
                tool_call.arguments,
                turn_id=turn_id,
                wait=wait,
                approval_wait=approval_wait,
                **caller,
            )
        except (InvalidInput, NotFound) as problem:
            return Ran.refused(problem)
        return Ran.of_call(call)

    async def turn(self, turn_id: str) -> answers.Turn:
        """Return a turn."""
        return await self._send(api_request.turn(turn_id))

    async def start(self, turn_id: str) -> answers.Turn:
        """Mark a turn as started; optional."""
        return await self._send(api_request.start(turn_id))

    async def outcome(
        self, turn_id: str, **fields: Unpack[options.OutcomeFields]
    ) -> answers.Reported:
        """Report a turn's outcome, once. Pegboard infers missing fields from the calls."""
        return await self._send(api_request.outcome(turn_id, fields))

    async def capabilities(self, **filters: Unpack[options.Filters]) -> answers.CapabilityPage:
        """Return a page of the caller's capabilities."""
        return await self._send(api_request.capabilities(filters))

    async def capability(
        self, full_name: str, **fields: Unpack[options.DetailOptions]
    ) -> answers.OneCapability:
        """Return a capability. Raises NotFound alike for unknown names and for other people's."""
        return await self._send(api_request.capability(full_name, fields))

    async def meta_tools(self) -> answers.MetaTools:
        """Return the meta-tools, which Pegboard answers itself."""
        return await self._send(api_request.meta_tools())

    async def meta(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        turn_id: str | None = None,
        **caller: Unpack[options.Caller],
    ) -> answers.MetaAnswer:
        """Call a meta-tool."""
        return await self._send(api_request.meta(name, arguments, turn_id, caller))

    async def _send(self, request: ApiRequest[Answer]) -> Answer:
        attempts = 0
        while True:
            attempts += 1
            try:
                return await self._send_once(request)
            except PegboardError as error:
                pause = self._transport.retries.pause_after(error, request, attempts)
                if pause is None:
                    raise
            await asyncio.sleep(pause)

    async def _send_once(self, request: ApiRequest[Answer]) -> Answer:
        try:
            answer: Answer = read_answer(
                await self._http.send(self._transport.request_for(request))
            )
        except httpx.RequestError as error:
            raise no_answer(request, error) from error
        return answer
