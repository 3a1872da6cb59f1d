"""A pool of sessions by key, with limits, idle timeouts and a circuit breaker per server.

Everything runs on one event loop. A call is sent once; it is repeated only if it was certainly not
sent.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, TypeVar

import anyio

from acl.platform.back_off import BackOff
from acl.platform.redis_circuit import CircuitBreaker
from catalog.servers.client.api_session import ApiSession
from catalog.servers.client.conversation import SILENT, Dialogue, Hear
from catalog.servers.client.mcp_session import Session, ToolResult, Tools
from catalog.servers.client.server_problems import (
    LIMITS,
    Reason,
    ServerProblemError,
    StillLimitedError,
    failure_class,
)
from catalog.servers.client.targets import (
    DEFAULT_LIMITS,
    ApiServer,
    Server,
    ServerLimits,
)
from catalog.servers.connections._policy import Policy, RateLimits
from catalog.servers.net.address_check import AllowedHosts

T = TypeVar("T")
AnySession = Session | ApiSession
Lister = Callable[[AnySession], Awaitable[Tools]]
_LANE_POLL_SECONDS = 0.05


def key_for(key: str, capabilities: frozenset[str]) -> str:
    """Return the key of a connection that announces a client's capabilities.

    A server is told them once a connection, so clients that can be asked different things do not
    share one.
    """
    kinds = {name.partition(".")[0] for name in capabilities}
    return "/".join([key, *sorted(kinds)])


def credential_in(key: str) -> str:
    """Return the integration and whose secrets the connection of this key sends."""
    return "/".join(key.partition("#")[0].split("/")[:2])


def capabilities_in(key: str) -> frozenset[str]:
    """Return the capabilities that the connection of this key announces."""
    return frozenset(key.partition("#")[0].split("/")[2:])


async def list_tools(session: AnySession) -> Tools:
    """List the tools over an open connection."""
    return await session.tools()


class ConnectionPool:
    """The connections of this process.

    `changed` receives the key of a server whose tools changed.
    """

    def __init__(
        self,
        *,
        policy: Policy | None = None,
        limits: ServerLimits = DEFAULT_LIMITS,
        allowed: AllowedHosts | None = None,
        changed: Callable[[str], None] = lambda key: None,
    ) -> None:
        self.policy = policy or Policy()
        self._limits = limits
        self._allowed = allowed
        self._changed = changed
        self._entries: dict[str, _PoolEntry] = {}
        self._lanes: set[str] = set()
        self._rate_limits = RateLimits(self.policy)

    @asynccontextmanager
    async def lane(self, key: str, seconds: float | None = None) -> AsyncIterator[str]:
        """Lend the key of a connection that no other call uses meanwhile.

        A call that is given up ends its connection: what the server still sends about it must not
        reach the next one. Raises BUSY if all are lent for as long as the call may take.
        """
        wait = self.policy.turn_seconds or seconds or self._limits.call_seconds
        deadline = anyio.current_time() + wait
        while (free := self._free_lane(key)) is None:
            if anyio.current_time() >= deadline:
                raise ServerProblemError(Reason.BUSY)
            await asyncio.sleep(_LANE_POLL_SECONDS)
        self._lanes.add(free)
        try:
            yield free
        except asyncio.CancelledError:
            await self.close(free)
            raise
        except ServerProblemError as problem:
            if problem.reason is Reason.NO_ANSWER:
                await self.close(free)
            raise
        finally:
            self._lanes.discard(free)

    def _free_lane(self, key: str) -> str | None:
        lanes = (f"{key}#{number}" for number in range(1, self.policy.at_once + 1))
        return next((lane for lane in lanes if lane not in self._lanes), None)

    async def call(
        self,
        key: str,
        server: Server,
        name: str,
        arguments: dict[str, Any],
        *,
        seconds: float | None = None,
        sending: Mapping[str, Any] | None = None,
        dialogue: Dialogue = SILENT,
    ) -> ToolResult:
        """Call a tool, connecting first if needed. `sending` is how to send an API's operation."""

        def call(session: AnySession) -> Awaitable[ToolResult]:
            if isinstance(session, ApiSession):
                return session.call(name, arguments, seconds=seconds, sending=sending)
            return session.call(name, arguments, seconds=seconds, dialogue=dialogue)

        operation = name if isinstance(server, ApiServer) else ""
        return await self._run_on(key, server, call, seconds, operation)

    async def request(
        self, key: str, server: Server, method: str, params: dict[str, Any], *, seconds: float
    ) -> dict[str, Any]:
        """Send a request that changes nothing, connecting first if needed."""

        def ask(session: AnySession) -> Awaitable[dict[str, Any]]:
            if isinstance(session, ApiSession):  # an API has operations only
                raise ServerProblemError(Reason.REFUSED)
            return session.request(method, params, seconds=seconds)

        return await self._run_on(key, server, ask, seconds)

    async def watch(
        self, key: str, server: Server, uris: frozenset[str], hear: Hear, ready: Callable[[], None]
    ) -> None:
        """Hear of changes until cancelled. Raises ServerProblemError when the connection ends."""

        async def watch(session: AnySession) -> None:
            if isinstance(session, ApiSession):
                raise ServerProblemError(Reason.REFUSED)
            await session.watch(uris, hear, ready)

        with self._within_limits(key, server) as check:
            await check()
            await (await self._entry(key, server)).hold(watch)

    async def tools(self, key: str, server: Server, lister: Lister = list_tools) -> Tools:
        """List the tools, connecting first if needed."""
        return await self._run_on(key, server, lister)

    async def probe(self, server: Server, lister: Lister = list_tools) -> Tools:
        """List the tools of a server over a connection outside the pool."""
        session = self._session(server)
        try:
            await session.open()
            return await lister(session)
        finally:
            await session.close()

    async def close(self, key: str) -> None:
        """Close a connection and drop its failure history."""
        if entry := self._entries.pop(key, None):
            await entry.close()

    async def close_shared(self, key: str) -> None:
        """Close a connection, and those of it that announce capabilities of clients."""
        self._rate_limits.forget(key)
        for open_key in self.known_keys():
            if open_key == key or open_key.startswith((f"{key}/", f"{key}#")):
                await self.close(open_key)

    async def close_all(self) -> None:
        """Close all connections concurrently."""
        entries, self._entries = list(self._entries.values()), {}
        await asyncio.gather(*(entry.close() for entry in entries))

    async def close_idle(self) -> None:
        """Close idle connections, and drop entries without failure history."""
        now = anyio.current_time()
        for key, entry in list(self._entries.items()):
            if entry.in_use or now - entry.used_at < self.policy.idle_seconds:
                continue
            if entry.has_failed_lately:
                await entry.close()
            else:
                await self.close(key)

    def known_keys(self) -> list[str]:
        """Return the keys of all known servers, connected or not."""
        return list(self._entries)

    def open_keys(self) -> list[str]:
        """Return the keys of connected servers."""
        return [key for key, entry in self._entries.items() if entry.is_open]

    async def _run_on(
        self,
        key: str,
        server: Server,
        request: Callable[[AnySession], Awaitable[T]],
        seconds: float | None = None,
        operation: str = "",
    ) -> T:
        wait = self.policy.turn_seconds or seconds or self._limits.list_seconds
        with self._within_limits(key, server, operation) as check:
            await check()
            return await (await self._entry(key, server)).ask(request, wait, check)

    @contextmanager
    def _within_limits(
        self, key: str, server: Server, operation: str = ""
    ) -> Iterator[Callable[[], Awaitable[None]]]:
        """Lend a check that raises while the server limits this credential; note a new limit."""
        limits, whose = self._rate_limits, credential_in(key)

        async def check() -> None:
            await asyncio.sleep(limits.check(whose, operation, server, anyio.current_time()))

        try:
            yield check
        except StillLimitedError:
            raise
        except ServerProblemError as problem:
            limits.note(whose, operation, server, problem, anyio.current_time())
            raise

    async def _entry(self, key: str, server: Server) -> "_PoolEntry":
        entry = self._entries.get(key)
        if entry is None or entry.server != server:
            # The command or a secret changed, so the old connection is useless.
            await self.close(key)
            await self._make_room()
            entry = self._entries.setdefault(key, self._new(key, server))
        return entry

    def _new(self, key: str, server: Server) -> "_PoolEntry":
        def open_session() -> AnySession:
            return self._session(server, lambda: self._changed(key), capabilities_in(key))

        return _PoolEntry(server, self.policy, open_session)

    def _session(
        self,
        server: Server,
        on_tools_changed: Callable[[], None] = lambda: None,
        capabilities: frozenset[str] = frozenset(),
    ) -> AnySession:
        if isinstance(server, ApiServer):
            return ApiSession(server, limits=self._limits, allowed=self._allowed)
        return Session(
            server,
            limits=self._limits,
            allowed=self._allowed,
            on_tools_changed=on_tools_changed,
            capabilities=capabilities,
        )

    async def _make_room(self) -> None:
        """Close the connection that has been idle longest when the pool is full."""
        while len(self.open_keys()) >= self.policy.connections:
            idle = [key for key in self.open_keys() if not self._entries[key].in_use]
            if not idle:
                raise ServerProblemError(Reason.BUSY)
            await self.close(min(idle, key=lambda key: self._entries[key].used_at))


class _PoolEntry:
    """A server's session, if any, and its failure history."""

    def __init__(self, server: Server, policy: Policy, new: Callable[[], AnySession]) -> None:
        self.server = server
        self.used_at = anyio.current_time()
        self.in_use = 0
        self._policy = policy
        self._new = new
        self._session: AnySession | None = None
        self._opening = asyncio.Lock()
        self._waiting = 0
        self._leaving: set[asyncio.Task[None]] = set()
        self._call_slots = asyncio.Semaphore(policy.at_once)
        self._breaker = CircuitBreaker(
            policy.failures, policy.rest_seconds, within_seconds=policy.within_seconds
        )
        self._back_off = BackOff(policy.first_pause, policy.longest_pause, jitter=0.5)
        self._last_problem: ServerProblemError | None = None

    @property
    def is_open(self) -> bool:
        return self._session is not None and self._session.is_open

    @property
    def has_failed_lately(self) -> bool:
        return self._breaker.is_open or not self._back_off.allows(anyio.current_time())

    async def ask(
        self,
        request: Callable[[AnySession], Awaitable[T]],
        wait: float,
        check: Callable[[], Awaitable[None]],
    ) -> T:
        async with self._call_slot(wait):
            await check()  # another call may have met a limit meanwhile
            if not self._breaker.allows(anyio.current_time()):
                detail = str(self._last_problem) if self._last_problem else ""
                raise ServerProblemError(Reason.RESTING, detail)
            try:
                answer = await self._run_on_open_session(request)
            except ServerProblemError as problem:
                self._record_problem(problem)
                raise
            self._breaker.succeeded()
            return answer

    async def hold(self, work: Callable[[AnySession], Awaitable[None]]) -> None:
        """Use the session for long: it is not idle meanwhile, and no call's place is taken."""
        self.in_use += 1
        try:
            session, _ = await self._ensure_open()
            await work(session)
        finally:
            self.in_use -= 1
            self.used_at = anyio.current_time()

    async def close(self) -> None:
        session, self._session = self._session, None
        for leaving in [*self._leaving]:
            leaving.cancel()
        if session is not None:
            await session.close()

    async def _leave(self) -> None:
        """Close the session, unless calls still run on it that the server may answer."""
        session = self._session
        if isinstance(session, Session) and session.is_forgotten:
            self._session = None
            leaving = asyncio.create_task(session.close_when_idle())
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)
        else:
            await self.close()

    async def _run_on_open_session(self, request: Callable[[AnySession], Awaitable[T]]) -> T:
        session, is_new = await self._ensure_open()
        try:
            return await request(session)
        except ServerProblemError as problem:
            # The session ended while idle and nothing was sent: retry once on a new one.
            if is_new or problem.sent or session.is_open:
                raise
        session, _ = await self._ensure_open()
        return await request(session)

    async def _ensure_open(self) -> tuple[AnySession, bool]:
        async with self._opening:
            if self._session is not None and self._session.is_open:
                return self._session, False
            # While backing off, repeat the last problem at once instead of reconnecting.
            if self._last_problem and not self._back_off.allows(anyio.current_time()):
                last = self._last_problem
                raise ServerProblemError(last.reason, last.detail)
            await self._leave()
            session = self._new()
            try:
                await session.open()
            except ServerProblemError as problem:
                if problem.reason not in LIMITS:  # which say themselves for how long
                    self._last_problem = problem
                    self._back_off.failed(anyio.current_time())
                raise
            self._back_off.succeeded()
            self._session = session
            return session, True

    @asynccontextmanager
    async def _call_slot(self, wait: float) -> AsyncIterator[None]:
        """Wait for one of the server's concurrent-call slots, or raise BUSY."""
        if self._waiting >= self._policy.waiting:
            raise ServerProblemError(Reason.BUSY)
        self._waiting += 1
        try:
            async with asyncio.timeout(wait):
                await self._call_slots.acquire()
        except TimeoutError:
            raise ServerProblemError(Reason.BUSY) from None
        finally:
            self._waiting -= 1
        self.in_use += 1
        try:
            yield
        finally:
            self.in_use -= 1
            self.used_at = anyio.current_time()
            self._call_slots.release()

    def _record_problem(self, problem: ServerProblemError) -> None:
        failure = failure_class(problem.reason)
        if failure.counts:
            self._last_problem = problem
            self._breaker.failed(anyio.current_time())
        elif failure.answered:
            self._breaker.succeeded()


async def close_idle_forever(connections: ConnectionPool) -> None:
    """Close idle connections periodically for as long as the process lives."""
    while True:
        await asyncio.sleep(max(connections.policy.idle_seconds / 4, 0.01))
        with suppress(ServerProblemError):
            await connections.close_idle()
