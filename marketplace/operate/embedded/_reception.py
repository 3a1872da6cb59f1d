"""gunicorn's threaded worker, changed so that threads only see complete requests.

gunicorn gives a connection to a thread at its first byte, and the thread waits for the rest: a few
half-sent requests block all threads. Here the accept loop receives requests too, without blocking,
and closes slow clients. It also limits each caller to three quarters of the threads, lets those
who wait take turns, drops requests whose clients have gone, and keeps a thread for probes.
"""

import errno
import re
import selectors
import socket
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from django.conf import settings
from gunicorn.workers.gthread import TConn, ThreadWorker

from marketplace.operate.embedded._intake import (
    CONTINUE,
    Intake,
    Refusal,
    build_response,
    to_refusal,
)

# Fair sharing of threads: a limit for each caller, so that others always find a free thread, and
# turns for those who wait: callers after each other, and the people of a caller after each other.

Item = TypeVar("Item")
# Beyond these, a person of a caller and a caller are refused; so is whoever has waited too long.
MAX_WAITING_OF_PERSON, MAX_WAITING, MAX_WAIT_SECONDS = 250, 1_000, 20.0


@dataclass(slots=True)
class FairQueue(Generic[Item]):
    """`slots` for requests, `most` of them for one caller, and turns for who waits for one.

    Not thread-safe. `slots` may change at any time.
    """

    slots: int
    most: int
    _running: Counter[Hashable] = field(default_factory=Counter)
    # The caller and the person whose turn it is come first.
    _waiting: dict[Hashable, dict[Hashable, deque[tuple[float, Item]]]] = field(
        default_factory=dict
    )

    def begin(self, caller: Hashable) -> bool:
        """Take a slot if one is free for the caller."""
        if self._running.total() >= self.slots or self._running[caller] >= self.most:
            return False
        self._running[caller] += 1
        return True

    def wait(self, caller: Hashable, person: Hashable, item: Item, *, now: float) -> bool:
        """Queue for a free slot. Return False if the person or the caller has too many there."""
        people = self._waiting.get(caller, {})
        if sum(map(len, people.values())) >= MAX_WAITING:
            return False
        if len(people.get(person, ())) >= MAX_WAITING_OF_PERSON:
            return False
        people = self._waiting.setdefault(caller, people)
        people.setdefault(person, deque()).append((now + MAX_WAIT_SECONDS, item))
        return True

    def end(self, caller: Hashable) -> None:
        """Free a slot of the caller."""
        self._running[caller] -= 1
        self._running += Counter()  # drops those without any

    def next(self) -> Item | None:
        """Return the queued item whose turn it is, which then holds a slot."""
        if self._running.total() >= self.slots:
            return None
        caller = next((at for at in self._waiting if self._running[at] < self.most), None)
        if caller is None:
            return None
        people = self._waiting.pop(caller)
        person = next(iter(people))
        items = people.pop(person)
        _, item = items.popleft()
        if items:
            people[person] = items
        if people:
            self._waiting[caller] = people
        self._running[caller] += 1
        return item

    @property
    def has_waiting(self) -> bool:
        """True if any item is queued."""
        return bool(self._waiting)

    def expired(self, now: float) -> Iterator[Item]:
        """Remove and yield the items that have waited too long."""
        for caller, people in list(self._waiting.items()):
            for person, items in list(people.items()):
                while items and items[0][0] <= now:
                    yield items.popleft()[1]
                if not items:
                    del people[person]
            if not people:
                del self._waiting[caller]


DEFAULT_MAX_BODY = 1_048_576
# Connections from one address that may be sending at once; beyond, the oldest is closed.
MAX_SENDING = 64
# Time and bytes to keep reading after the last answer, for clients that are still sending.
LINGER_SECONDS, MAX_DISCARDED = 2.0, 1_048_576
# Deadline for reading an answer, plus a second per LEAST_BYTES_A_SECOND.
READING_SECONDS, LEAST_BYTES_A_SECOND = 20.0, 10_000
_CHECK_INTERVAL = 0.5  # seconds between checks of deadlines
# Who a key's request is for, as far as it says so. Nobody relies on it but the order of turns.
_ACTED_FOR = re.compile(
    rb"""(?i:\nx-pegboard-user:[ \t]*|[?&]user=|"user"\s*:\s*")([^"&\s]{1,200})"""
)
_PROBE = re.compile(rb"GET /(?:healthz|livez|readyz)[ ?]")
_SEARCHED_BYTES = 65_536
_SESSION = re.compile(rb"(?:^|;)\s*sessionid=([^;\s]+)")


class DeadlineSocket(socket.socket):
    """Socket with a deadline for sending, however slowly the client reads."""

    _sent, _spent = 0, 0.0

    def setblocking(self, flag: bool, /) -> None:
        """Set a timeout where gunicorn would block without limit."""
        self.settimeout(READING_SECONDS if flag else 0.0)

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        """Send all data, within the total time of all answers on this connection."""
        remaining = READING_SECONDS + self._sent / LEAST_BYTES_A_SECOND - self._spent
        began = time.monotonic()
        self.settimeout(max(0.1, remaining))
        try:
            super().sendall(data, flags)
        except TimeoutError as slow:
            raise ConnectionResetError(errno.ECONNRESET, "The client reads too slowly.") from slow
        finally:
            self._spent += time.monotonic() - began
            self._sent += len(data)


class WebConnection(TConn):  # type: ignore[misc]  # gunicorn has no types
    """A connection with the state of its current request."""

    def __init__(self, cfg: Any, sock: socket.socket, client: Any, server: Any) -> None:
        super().__init__(cfg, DeadlineSocket(fileno=sock.detach()), client, server)
        self.peer = client[0] if isinstance(client, tuple) else ""
        self.caller: Hashable = self.peer
        self.queue: FairQueue[WebConnection]
        self.intake: Intake
        self.is_new = True
        self.request = self.surplus = b""
        self.until = 0.0
        self.discarded = 0


class ReceivingWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """Receives requests in its loop, and hands complete ones to threads, fairly per caller."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._most_body, self._trusts_proxy = DEFAULT_MAX_BODY, False
        threads = self.cfg.threads
        self._requests: FairQueue[WebConnection] = FairQueue(threads, max(1, threads * 3 // 4))
        self._probes: FairQueue[WebConnection] = FairQueue(1, 1)
        self._sending: dict[WebConnection, None] = {}
        self._by_peer: defaultdict[str, dict[WebConnection, None]] = defaultdict(dict)
        self._lingering: dict[WebConnection, None] = {}
        self._checked_at = 0.0
        self._lending = threading.Lock()

    def run(self) -> None:
        """Serve until told to stop."""
        # Settings are read here, because the application is loaded only now.
        if settings.configured:  # tests run an application without settings
            self._most_body = settings.PEGBOARD_MAX_BODY_BYTES
            self._trusts_proxy = settings.PEGBOARD_TRUST_PROXY
        application: Any = self.wsgi
        self.wsgi: Any = partial(_answer_with_lender, application, self._lend_thread)
        self.tpool._max_workers += self._probes.slots
        super().run()

    @contextmanager
    def _lend_thread(self) -> Iterator[None]:
        """Start another thread while this one holds a stream open: a person may be thinking."""
        self._change_threads(1)
        with suppress(RuntimeError):  # shutting down
            self.tpool.submit(int)  # starts the thread
        try:
            yield
        finally:
            self._change_threads(-1)

    def _change_threads(self, by: int) -> None:
        with self._lending:
            self.tpool._max_workers += by  # the executor has no public way
            self._requests.slots += by

    # Receiving

    def accept(self, listener: socket.socket) -> None:
        """Start receiving on a new connection."""
        try:
            sock, client = listener.accept()
        except OSError as problem:
            if problem.errno not in (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK):
                raise
            return
        self.nr_conns += 1
        # Near the connection limit, close the connection that has been sending longest.
        connection = WebConnection(self.cfg, sock, client, listener.getsockname())
        if self.nr_conns >= self.worker_connections - 1 and self._sending:
            self._close(next(iter(self._sending)))
        self._receive(connection)

    def _receive(self, connection: WebConnection, surplus: bytes = b"") -> None:
        connection.sock.setblocking(False)
        connection.intake = Intake(time.monotonic(), self._most_body)
        self._sending[connection] = None
        if connection.is_new and not self._trusts_proxy:
            same_peer = self._by_peer[connection.peer]
            same_peer[connection] = None
            if len(same_peer) > MAX_SENDING:
                self._close(next(iter(same_peer)))
        self.poller.register(
            connection.sock, selectors.EVENT_READ, partial(self._on_readable, connection)
        )
        if surplus:
            self._feed(connection, surplus)

    def _on_readable(self, connection: WebConnection, _: Any) -> None:
        try:
            data = connection.sock.recv(65_536)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if data:
            self._feed(connection, data)
        else:
            self._close(connection)

    def _feed(self, connection: WebConnection, data: bytes) -> None:
        intake = connection.intake
        try:
            intake.receive(data)
        except Refusal as refusal:
            self._refuse(connection, refusal)
            return
        if intake.expects_continue:
            intake.expects_continue = False
            with suppress(OSError):
                connection.sock.send(CONTINUE)
        if intake.is_complete:
            self._forget(connection)
            connection.request, connection.surplus = intake.take()
            connection.caller = _caller_key(intake, connection.peer, self._trusts_proxy)
            connection.is_new = False
            is_probe = _PROBE.match(connection.request)
            connection.queue = self._probes if is_probe else self._requests
            self.enqueue_req(connection)

    # Turns

    def enqueue_req(self, conn: WebConnection) -> None:
        """Give the request to a thread, or queue it until it is its turn."""
        if conn.queue.begin(conn.caller):
            super().enqueue_req(conn)
            return
        mention = _ACTED_FOR.search(conn.request, 0, _SEARCHED_BYTES)
        person = mention[1] if mention else b""
        if not conn.queue.wait(conn.caller, person, conn, now=time.monotonic()):
            detail = "Too many requests from this caller are already running or waiting."
            self._refuse(conn, Refusal(429, detail), retry_after=5)

    def _go_on(self) -> None:
        """Give free slots to those who wait."""
        for queue in (self._requests, self._probes):
            while (following := queue.next()) is not None:
                super().enqueue_req(following)

    def handle(self, conn: WebConnection) -> Any:
        """Answer a complete request, unless its client has gone. Runs in a thread."""
        try:
            with suppress(BlockingIOError):  # nothing to read, as long as it waits
                if conn.sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b"":
                    return False
            conn.sock.setblocking(True)
            conn.init()
            conn.parser.unreader.unread(conn.request)
        except OSError:
            return False
        conn.request, conn.data_ready = b"", True
        return super().handle(conn)

    def finish_request(self, conn: WebConnection, fs: "Future[Any]") -> None:
        """Free the caller's slot for its next request; keep the connection open, or close it."""
        conn.queue.end(conn.caller)
        self._go_on()
        try:
            keeps_open = fs.result() is True and self.alive
        except Exception:  # close the connection, not the worker
            keeps_open = False
        if keeps_open:
            self._receive(conn, conn.surplus)
        else:
            self._linger(conn)

    def handle_error(self, req: Any, client: Any, addr: Any, exc: Exception) -> None:
        """Answer errors with a problem document instead of gunicorn's HTML page."""
        refusal = to_refusal(exc)
        if refusal.status >= 500:
            self.log.error("Error handling a request", exc_info=exc)
        else:
            address = addr[0] if isinstance(addr, tuple) else ""
            self.log.warning("Refused a request from %s: %s", address, type(exc).__name__)
        with suppress(OSError):
            client.sendall(build_response(refusal))

    # Ending

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        """Dispatch events, and close connections past their deadline."""
        queued = self._requests.has_waiting or self._probes.has_waiting
        waits = self._sending or self._lingering or queued
        super().wait_for_and_dispatch_events(min(timeout, _CHECK_INTERVAL) if waits else timeout)
        if (now := time.monotonic()) - self._checked_at >= _CHECK_INTERVAL:
            self._checked_at = now
            self._close_expired(now)

    def _close_expired(self, now: float) -> None:
        for connection in list(self._sending):
            intake = connection.intake
            if not intake.has_begun:
                if now > intake.started + self.cfg.keepalive:
                    self._close(connection)
            elif now > intake.deadline:
                self._refuse(connection, Refusal(408, ""))
        for connection in [lingering for lingering in self._lingering if now > lingering.until]:
            self._close(connection)
        self._go_on()  # a thread may have been lent
        for connection in (*self._requests.expired(now), *self._probes.expired(now)):
            detail = "The server has more to do than it can answer in time."
            self._refuse(connection, Refusal(503, detail), retry_after=5)

    def _refuse(self, connection: WebConnection, refusal: Refusal, *, retry_after: int = 0) -> None:
        self.log.info("Refused a request from %s: %s", connection.peer, refusal.status)
        self._forget(connection)
        with suppress(OSError):
            connection.sock.setblocking(False)
            connection.sock.send(build_response(refusal, retry_after=retry_after))
        self._linger(connection)

    def _linger(self, connection: WebConnection) -> None:
        """Read on for a moment: closing with unread data would reset the connection."""
        try:
            connection.sock.setblocking(False)
            connection.sock.shutdown(socket.SHUT_WR)
        except OSError:
            self._close(connection)
            return
        connection.until = time.monotonic() + LINGER_SECONDS
        self._lingering[connection] = None
        self.poller.register(
            connection.sock, selectors.EVENT_READ, partial(self._discard, connection)
        )

    def _discard(self, connection: WebConnection, _: Any) -> None:
        try:
            data = connection.sock.recv(65_536)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        connection.discarded += len(data)
        if not data or connection.discarded > MAX_DISCARDED:
            self._close(connection)

    def _forget(self, connection: WebConnection) -> None:
        """Stop receiving on the connection."""
        self._sending.pop(connection, None)
        self._lingering.pop(connection, None)
        if (same_peer := self._by_peer.get(connection.peer)) is not None:
            same_peer.pop(connection, None)
            if not same_peer:
                del self._by_peer[connection.peer]
        with suppress(KeyError, ValueError, OSError):
            self.poller.unregister(connection.sock)

    def _close(self, connection: WebConnection) -> None:
        self._forget(connection)
        self.nr_conns -= 1
        connection.close()


def _answer_with_lender(
    application: Any, lend_thread: Any, environ: dict[str, Any], start_response: Any
) -> Any:
    environ["pegboard.lend_thread"] = lend_thread  # acl/web/open_streams.py
    return application(environ, start_response)


def _caller_key(intake: Intake, peer: str, trusts_proxy: bool) -> Hashable:
    """Return the key for the caller's limit: a hash of an unverified credential, or the address."""
    if credentials := intake.values(b"authorization"):
        return hash(credentials[0].rpartition(b" ")[2])
    if session := _SESSION.search(b";".join(intake.values(b"cookie"))):
        return hash(session[1])
    if trusts_proxy and (forwarded := intake.values(b"x-forwarded-for")):
        return forwarded[-1].rpartition(b",")[2].strip().decode("latin-1")
    return peer
