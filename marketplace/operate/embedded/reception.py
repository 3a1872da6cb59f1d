"""gunicorn's threaded worker, whose threads see whole requests only.

gunicorn hands a connection to a thread with its first byte, and the thread waits for the rest: as
many half-sent requests as there are threads make the web silent. Here the loop that accepts
connections receives requests as well, without waiting for any of them, and closes whoever is too
slow. It also shares the threads out: one caller has three quarters of them at most.
"""

import errno
import re
import selectors
import socket
import time
from collections import defaultdict
from collections.abc import Hashable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any

from django.conf import settings
from gunicorn.workers.gthread import TConn, ThreadWorker

from marketplace.operate.embedded.fair_turns import Turns
from marketplace.operate.embedded.intake import CONTINUE, Intake, Refusal
from marketplace.operate.embedded.refusals import answer_of, refusal_of

DEFAULT_MOST_BODY = 1_048_576
# Of one address so many connections may be sending; the oldest of more is closed.
MOST_SENDING = 64
# So long a connection stays after its last answer, for a client that is still sending.
LINGER_SECONDS, MOST_DISCARDED = 2.0, 1_048_576
# A client that reads its answer has this long, and a second more for each so many bytes.
READING_SECONDS, LEAST_BYTES_A_SECOND = 20.0, 10_000
_PACE = 0.5  # seconds; so often deadlines are looked at
_SESSION = re.compile(rb"(?:^|;)\s*sessionid=([^;\s]+)")


class AnsweringSocket(socket.socket):
    """A socket on which sending ends, however slowly the client reads."""

    _sent, _spent = 0, 0.0

    def setblocking(self, flag: bool, /) -> None:
        """Wait for a bounded time where gunicorn would for ever."""
        self.settimeout(READING_SECONDS if flag else 0.0)

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        """Send all of it, within the time that all answers of this connection have together."""
        left = READING_SECONDS + self._sent / LEAST_BYTES_A_SECOND - self._spent
        began = time.monotonic()
        self.settimeout(max(0.1, left))
        try:
            super().sendall(data, flags)
        except TimeoutError as slow:
            raise ConnectionResetError(errno.ECONNRESET, "The client reads too slowly.") from slow
        finally:
            self._spent += time.monotonic() - began
            self._sent += len(data)


class Connection(TConn):  # type: ignore[misc]  # gunicorn has no types
    """A connection, and what is received on it."""

    def __init__(self, cfg: Any, sock: socket.socket, client: Any, server: Any) -> None:
        super().__init__(cfg, AnsweringSocket(fileno=sock.detach()), client, server)
        self.peer = client[0] if isinstance(client, tuple) else ""
        self.caller: Hashable = self.peer
        self.intake: Intake
        self.is_new = True
        self.request = self.surplus = b""
        self.until = 0.0
        self.discarded = 0


class ReceivingWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """Receives requests in its loop, and gives its threads whole ones, by turns."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._most_body, self._trusts_proxy = DEFAULT_MOST_BODY, False
        self._turns: Turns[Connection] = Turns(max(1, self.cfg.threads * 3 // 4))
        self._sending: dict[Connection, None] = {}
        self._by_peer: defaultdict[str, dict[Connection, None]] = defaultdict(dict)
        self._lingering: dict[Connection, None] = {}
        self._looked = 0.0

    def run(self) -> None:
        """Serve until told to end. The application is loaded by now."""
        if settings.configured:  # a small application of the tests has no settings
            self._most_body = settings.PEGBOARD_MAX_BODY_BYTES
            self._trusts_proxy = settings.PEGBOARD_TRUST_PROXY
        super().run()

    # Receiving

    def accept(self, listener: socket.socket) -> None:
        """Begin to receive on a new connection."""
        try:
            sock, client = listener.accept()
        except OSError as problem:
            if problem.errno not in (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK):
                raise
            return
        self.nr_conns += 1
        connection = Connection(self.cfg, sock, client, listener.getsockname())
        if self.nr_conns >= self.worker_connections - 1 and self._sending:
            self._close(next(iter(self._sending)))
        self._receive(connection)

    def _receive(self, connection: Connection, surplus: bytes = b"") -> None:
        connection.sock.setblocking(False)
        connection.intake = Intake(time.monotonic(), self._most_body)
        self._sending[connection] = None
        if connection.is_new and not self._trusts_proxy:
            mine = self._by_peer[connection.peer]
            mine[connection] = None
            if len(mine) > MOST_SENDING:
                self._close(next(iter(mine)))
        self.poller.register(
            connection.sock, selectors.EVENT_READ, partial(self._on_readable, connection)
        )
        if surplus:
            self._feed(connection, surplus)

    def _on_readable(self, connection: Connection, _: Any) -> None:
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

    def _feed(self, connection: Connection, data: bytes) -> None:
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
            connection.caller = _caller_of(intake, connection.peer, self._trusts_proxy)
            connection.is_new = False
            self.enqueue_req(connection)

    # Turns

    def enqueue_req(self, conn: Connection) -> None:
        """Have a thread answer the request, now or when its caller has a turn."""
        if self._turns.begin(conn.caller):
            super().enqueue_req(conn)
        elif not self._turns.wait(conn.caller, conn, now=time.monotonic()):
            self._refuse_as_too_many(conn)

    def handle(self, conn: Connection) -> Any:
        """Answer a request that is all there. Runs in a thread."""
        try:
            conn.sock.setblocking(True)
            conn.init()
            conn.parser.unreader.unread(conn.request)
        except OSError:
            return False
        conn.request, conn.data_ready = b"", True
        return super().handle(conn)

    def finish_request(self, conn: Connection, fs: "Future[Any]") -> None:
        """Pass the turn on; go on with the connection, or let it go."""
        if (following := self._turns.end(conn.caller)) is not None:
            super().enqueue_req(following)
        try:
            goes_on = fs.result() is True and self.alive
        except Exception:  # the connection ends, not the worker
            goes_on = False
        if goes_on:
            self._receive(conn, conn.surplus)
        else:
            self._linger(conn)

    def handle_error(self, req: Any, client: Any, addr: Any, exc: Exception) -> None:
        """Answer with a problem where gunicorn answers with a page."""
        refusal = refusal_of(exc)
        if refusal.status >= 500:
            self.log.error("Error handling a request", exc_info=exc)
        else:
            address = addr[0] if isinstance(addr, tuple) else ""
            self.log.warning("Refused a request of %s: %s", address, type(exc).__name__)
        with suppress(OSError):
            client.sendall(answer_of(refusal))

    # Ending

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        """Also close those whose time is over."""
        waits = self._sending or self._lingering or self._turns.has_waiting
        super().wait_for_and_dispatch_events(min(timeout, _PACE) if waits else timeout)
        if (now := time.monotonic()) - self._looked >= _PACE:
            self._looked = now
            self._close_late(now)

    def _close_late(self, now: float) -> None:
        for connection in list(self._sending):
            intake = connection.intake
            if not intake.has_begun:
                if now > intake.started + self.cfg.keepalive:
                    self._close(connection)
            elif now > intake.deadline:
                self._refuse(connection, Refusal(408, ""))
        for connection in [one for one in self._lingering if now > one.until]:
            self._close(connection)
        for connection in self._turns.expired(now):
            self._refuse_as_too_many(connection)

    def _refuse_as_too_many(self, connection: Connection) -> None:
        told = "Too many requests of this caller run and wait already."
        self._refuse(connection, Refusal(429, told), retry_after=5)

    def _refuse(self, connection: Connection, refusal: Refusal, *, retry_after: int = 0) -> None:
        self.log.info("Refused a request of %s: %s", connection.peer, refusal.status)
        self._forget(connection)
        with suppress(OSError):
            connection.sock.setblocking(False)
            connection.sock.send(answer_of(refusal, retry_after=retry_after))
        self._linger(connection)

    def _linger(self, connection: Connection) -> None:
        """Read on for a moment: a socket closed with something unread takes the answer back."""
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

    def _discard(self, connection: Connection, _: Any) -> None:
        try:
            data = connection.sock.recv(65_536)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        connection.discarded += len(data)
        if not data or connection.discarded > MOST_DISCARDED:
            self._close(connection)

    def _forget(self, connection: Connection) -> None:
        """Receive no more on it for now."""
        self._sending.pop(connection, None)
        self._lingering.pop(connection, None)
        if (mine := self._by_peer.get(connection.peer)) is not None:
            mine.pop(connection, None)
            if not mine:
                del self._by_peer[connection.peer]
        with suppress(KeyError, ValueError, OSError):
            self.poller.unregister(connection.sock)

    def _close(self, connection: Connection) -> None:
        self._forget(connection)
        self.nr_conns -= 1
        connection.close()


def _caller_of(intake: Intake, peer: str, trusts_proxy: bool) -> Hashable:
    """Return by whom turns are counted: a credential, without looking whether it is valid; else the
    address. Only a hash of it is kept."""
    if given := intake.values(b"authorization"):
        return hash(given[0].rpartition(b" ")[2])
    if found := _SESSION.search(b";".join(intake.values(b"cookie"))):
        return hash(found[1])
    if trusts_proxy and (forwarded := intake.values(b"x-forwarded-for")):
        return forwarded[-1].rpartition(b",")[2].strip().decode("latin-1")
    return peer
