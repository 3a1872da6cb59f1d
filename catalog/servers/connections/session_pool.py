"""Sessions by key: opened when first asked, kept, closed when idle, and left alone when failing.

Everything here runs on one event loop. A call is sent once; it is tried again only where it has
certainly not been sent.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import anyio

from catalog.servers.client.mcp_session import Result, Session, Tools
from catalog.servers.client.server_limits import DEFAULT_LIMITS, Limits
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import Server
from catalog.servers.connections.circuit_breaker import BackOff, Breaker, Policy
from catalog.servers.net.address_check import AllowedHosts

T = TypeVar("T")
# A server that says no works.
NO_FAILURE = frozenset(
    {Reason.REFUSED, Reason.ASKS_BACK, Reason.SCOPE_NEEDED, Reason.SCOPE_REFUSED}
)


class Connections:
    """The connections of this process. `changed` is told the key of a server whose tools did."""

    def __init__(
        self,
        *,
        policy: Policy | None = None,
        limits: Limits = DEFAULT_LIMITS,
        allowed: AllowedHosts | None = None,
        changed: Callable[[str], None] = lambda key: None,
    ) -> None:
        self.policy = policy or Policy()
        self._limits = limits
        self._allowed = allowed
        self._changed = changed
        self._kept: dict[str, _Kept] = {}

    async def call(
        self,
        key: str,
        server: Server,
        name: str,
        arguments: dict[str, Any],
        *,
        seconds: float | None = None,
    ) -> Result:
        """Call a tool of the server that is kept under `key`, connecting where it is not."""
        return await self._ask(
            key, server, lambda session: session.call(name, arguments, seconds=seconds)
        )

    async def tools(self, key: str, server: Server) -> Tools:
        """List its tools."""
        return await self._ask(key, server, lambda session: session.tools())

    async def try_out(self, server: Server) -> Tools:
        """List the tools of a server that is not installed yet; nothing of it is kept."""
        session = Session(server, limits=self._limits, allowed=self._allowed)
        try:
            await session.open()
            return await session.tools()
        finally:
            await session.close()

    async def close(self, key: str) -> None:
        """End one connection, and forget how it was."""
        if kept := self._kept.pop(key, None):
            await kept.close()

    async def close_all(self) -> None:
        """End all of them at once, each within its own time."""
        kept, self._kept = list(self._kept.values()), {}
        await asyncio.gather(*(one.close() for one in kept))

    async def tidy(self) -> None:
        """End what nobody has used for a while, and forget what has no state."""
        now = anyio.current_time()
        for key, kept in list(self._kept.items()):
            if kept.in_use or now - kept.used_at < self.policy.idle_seconds:
                continue
            if kept.has_failed_lately:
                await kept.close()
            else:
                await self.close(key)

    def known_keys(self) -> list[str]:
        """Which servers are known here, connected or not."""
        return list(self._kept)

    def open_keys(self) -> list[str]:
        """Which servers are connected now."""
        return [key for key, kept in self._kept.items() if kept.is_open]

    def resting_keys(self) -> list[str]:
        """Which servers are left alone now, since they failed several times in a row."""
        return [key for key, kept in self._kept.items() if kept.is_resting]

    async def _ask(self, key: str, server: Server, what: Callable[[Session], Awaitable[T]]) -> T:
        kept = self._kept.get(key)
        if kept is None or kept.server != server:
            # Another command or another secret: the old connection is of no use any more.
            await self.close(key)
            await self._make_room()
            kept = self._kept.setdefault(key, self._new(key, server))
        return await kept.ask(what)

    def _new(self, key: str, server: Server) -> "_Kept":
        def open_session() -> Session:
            return Session(
                server,
                limits=self._limits,
                allowed=self._allowed,
                on_tools_changed=lambda: self._changed(key),
            )

        return _Kept(server, self.policy, open_session)

    async def _make_room(self) -> None:
        """Where there are too many, end the one that has been idle for longest."""
        while len(self.open_keys()) >= self.policy.connections:
            idle = [key for key in self.open_keys() if not self._kept[key].in_use]
            if not idle:
                raise ServerProblemError(Reason.BUSY)
            await self.close(min(idle, key=lambda key: self._kept[key].used_at))


class _Kept:
    """One server: its session if there is one, and how it has been doing."""

    def __init__(self, server: Server, policy: Policy, new: Callable[[], Session]) -> None:
        self.server = server
        self.used_at = anyio.current_time()
        self.in_use = 0
        self._policy = policy
        self._new = new
        self._session: Session | None = None
        self._opening = asyncio.Lock()
        self._places = asyncio.Semaphore(policy.at_once)
        self._breaker, self._back_off = Breaker(policy), BackOff(policy)
        self._last_problem: ServerProblemError | None = None

    @property
    def is_open(self) -> bool:
        return self._session is not None and self._session.is_open

    @property
    def is_resting(self) -> bool:
        return self._breaker.is_resting

    @property
    def has_failed_lately(self) -> bool:
        return self._breaker.is_resting or not self._back_off.allows(anyio.current_time())

    async def ask(self, what: Callable[[Session], Awaitable[T]]) -> T:
        async with self._place():
            if not self._breaker.allows(anyio.current_time()):
                detail = str(self._last_problem) if self._last_problem else ""
                raise ServerProblemError(Reason.RESTING, detail)
            try:
                answer = await self._ask_an_open_one(what)
            except ServerProblemError as problem:
                self._note(problem)
                raise
            self._breaker.succeeded()
            return answer

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _ask_an_open_one(self, what: Callable[[Session], Awaitable[T]]) -> T:
        session, is_new = await self._opened()
        try:
            return await what(session)
        except ServerProblemError as problem:
            # It had ended while it was idle, and nothing was sent: that is nobody's failure.
            if is_new or problem.sent or session.is_open:
                raise
        session, _ = await self._opened()
        return await what(session)

    async def _opened(self) -> tuple[Session, bool]:
        async with self._opening:
            if self._session is not None and self._session.is_open:
                return self._session, False
            if self._last_problem and not self._back_off.allows(anyio.current_time()):
                last = self._last_problem
                raise ServerProblemError(last.reason, last.detail)
            await self.close()
            session = self._new()
            try:
                await session.open()
            except ServerProblemError:
                self._back_off.failed(anyio.current_time())
                raise
            self._back_off.succeeded()
            self._session = session
            return session, True

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        """A place among those that may call at once; without one in time the server is busy."""
        try:
            async with asyncio.timeout(self._policy.turn_seconds):
                await self._places.acquire()
        except TimeoutError:
            raise ServerProblemError(Reason.BUSY) from None
        self.in_use += 1
        try:
            yield
        finally:
            self.in_use -= 1
            self.used_at = anyio.current_time()
            self._places.release()

    def _note(self, problem: ServerProblemError) -> None:
        if problem.reason in NO_FAILURE:
            self._breaker.succeeded()
            return
        self._last_problem = problem
        self._breaker.failed(anyio.current_time())


async def keep_tidy(connections: Connections) -> None:
    """Look after idle connections for as long as the process lives."""
    while True:
        await asyncio.sleep(max(connections.policy.idle_seconds / 4, 0.01))
        with suppress(ServerProblemError):
            await connections.tidy()
