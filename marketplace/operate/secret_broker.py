"""The secrets broker, the one process with the encryption keys, and its socket.

It is sent a line of JSON with sealed values, and answers with a line of their contents. Talks to
the process that keeps connections, and to the database. Never logs a value.
"""

import json
import os
import re
import socket
import socketserver
import struct
import time
from base64 import b64decode
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Lock
from typing import Any

import psutil
import structlog
from django.conf import settings
from django.db import DatabaseError, close_old_connections
from django.db.models import Q
from django.utils import timezone

from acl.platform.strict_json import parse_json
from catalog.models import Integration, OAuthConnection, OAuthRevocation, OAuthSignIn
from catalog.models.oauth_tables import TOKEN
from catalog.servers.secrets.encryption_keys import (
    CannotOpenError,
    OtherPurposeError,
    SecretUnavailableError,
    open_value,
    opening_keys,
)
from catalog.servers.secrets.sealed_values import BrokerRefusal, SealedValue
from discovery.models import Call, ModelRequest, ServerRequest
from marketplace.models import Installation, NotificationDelivery
from marketplace.operate.embedded.key_cover import WRAPPER

# Admission to the broker: which processes may ask, and for how many connections a minute.

_CREDENTIALS = struct.Struct("3i")


_WINDOW_SECONDS = 60.0


def is_trusted(channel: socket.socket, *, supervisor: int | None) -> bool:
    """Return True for our own user and, under a supervisor, for a process that it started.

    Programs of servers are started by such a process, not by the supervisor. In containers there is
    no supervisor: who reaches the socket is decided by the volume that it is on.
    """
    pid, uid = _peer(channel)
    if uid != os.geteuid():
        return False
    return supervisor is None or _is_child(pid, supervisor)


def _peer(channel: socket.socket) -> tuple[int, int]:
    if not hasattr(socket, "SO_PEERCRED"):  # macOS; there the folder of the socket decides
        return 0, os.geteuid()
    credentials = channel.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(credentials)
    return pid, uid


def _is_child(pid: int, supervisor: int) -> bool:
    """Return True if the supervisor started the process, by bubblewrap or without."""
    try:
        parent = psutil.Process(pid).parent()
        while parent is not None and parent.name() == WRAPPER:
            parent = parent.parent()
    except (psutil.Error, ValueError):
        return False
    return parent is not None and parent.pid == supervisor


class RequestWindow:
    """Bound on the number of different connections that something happens for within a minute."""

    def __init__(self, most: int, *, now: Callable[[], float] = time.monotonic) -> None:
        self._most, self._now = most, now
        self._since: dict[str, float] = {}
        self._lock = Lock()

    def admit(self, name: str) -> tuple[bool, bool]:
        """Return whether the name is within the bound, and whether it is new in this minute."""
        with self._lock:
            now = self._now()
            self._since = {key: at for key, at in self._since.items() if at > now - _WINDOW_SECONDS}
            if name in self._since:
                return True, False
            if len(self._since) >= self._most:
                return False, False
            self._since[name] = now
            return True, True


# Permission to open a secret now: only what a call, check, installation or sign-in needs.
# The purpose of a sealed value says whose it is. What may be opened is read from the database
# each time, so that a broken-into process cannot collect what nobody is using.

_SECRET = re.compile(r"(?P<integration>\d{1,18})/(?P<user>\d{1,18}|all)/(?P<name>.{1,120})", re.S)
_CHANNEL = re.compile(r"channel/(?P<id>\d{1,18})/(?:address|secret)")
_CHAT_MODEL = re.compile(r"chat-model/(?P<id>\d{1,18})/key")
_SIGN_IN = re.compile(r"sign-in/(?P<id>[0-9a-f-]{36})")
# Tokens are renewed five minutes before they expire; clocks may differ a little.
_RENEWED_WITHIN = timedelta(minutes=10)


def may_open(purpose: str) -> bool:
    """Return True if something is going on that needs this value."""
    if match := _SIGN_IN.fullmatch(purpose):
        rows = OAuthSignIn.objects.filter(public_id=match["id"])
        return rows.filter(state=OAuthSignIn.State.FINISHING).exists()
    if match := _CHANNEL.fullmatch(purpose):
        return _is_told(int(match["id"]))
    if match := _CHAT_MODEL.fullmatch(purpose):
        asking = ModelRequest.objects.filter(state=ModelRequest.State.RUNNING)
        return asking.filter(message__chat__model=int(match["id"])).exists()
    if match := _SECRET.fullmatch(purpose):
        integration, user = int(match["integration"]), match["user"]
        if user == "all":
            needed = _is_connected(integration)
        else:
            needed = _is_called(integration, int(user))
            needed = needed or (match["name"] == TOKEN and _is_renewed(integration, int(user)))
        return needed or _is_revoked(purpose)
    return False


def connection_of(purpose: str) -> str:
    """Return whose connection a value belongs to: integration and person."""
    return purpose.rpartition("/")[0] if _SECRET.fullmatch(purpose) else purpose


def _is_told(channel: int) -> bool:
    """Return True if something is to be delivered through the notification channel."""
    pending = NotificationDelivery.State.PENDING
    rows = NotificationDelivery.objects.filter(channel=channel, state=pending)
    return rows.filter(channel__paused=False, attempts__gt=0).exists()


def _is_connected(integration: int) -> bool:
    """Return True if the integration is in use or being installed: its checks need no call."""
    rows = Integration.objects.filter(pk=integration, unconfirmed=False)
    states = (*Installation.WORKING, Installation.State.NEEDS_SECRET)
    installing = Installation.objects.filter(integration=integration, state__in=states)
    return rows.filter(enabled=True).exists() or (rows.exists() and installing.exists())


def _is_called(integration: int, user: int) -> bool:
    """Return True if a call or request of theirs is under way, at a server that takes their
    secrets."""
    calls = Call.objects.filter(
        user_id=user,
        user__is_active=True,
        state__in=Call.UNDER_WAY,
        capability__integration_id=integration,
        capability__integration__own_secrets=True,
        capability__integration__unconfirmed=False,
    )
    requests = ServerRequest.objects.filter(
        user_id=user,
        user__is_active=True,
        state__in=(ServerRequest.State.QUEUED, ServerRequest.State.RUNNING),
        integration_id=integration,
        integration__own_secrets=True,
        integration__unconfirmed=False,
    )
    return calls.exists() or requests.exists()


def _is_renewed(integration: int, user: int) -> bool:
    """Return True if the person's token is about to expire."""
    rows = OAuthConnection.objects.filter(integration=integration, user=user, can_refresh=True)
    return rows.filter(expires_at__lte=timezone.now() + _RENEWED_WITHIN).exists()


def _is_revoked(purpose: str) -> bool:
    """Return True if the token of a removed account is to be revoked at its server."""
    matching = Q(token_purpose=purpose) | Q(client_purpose=purpose)
    return OAuthRevocation.objects.filter(matching).exists()


_THREADS = 4
_SECONDS = 10.0
_MOST_BYTES = 8 * 1024 * 1024
_REFUSALS_LOGGED = 60
log = structlog.get_logger(__name__)


class SecretBroker(socketserver.UnixStreamServer):
    """Opens sealed values for trusted processes, within limits."""

    request_queue_size = 64

    def __init__(self, path: Path, *, supervisor: int | None = None) -> None:
        path.unlink(missing_ok=True)  # of a broker that was killed
        self._supervisor = supervisor
        self._opened = RequestWindow(settings.PEGBOARD_BROKER_CONNECTIONS)
        self._refused = RequestWindow(_REFUSALS_LOGGED)
        # Threads keep their connection to the database.
        self._threads = ThreadPoolExecutor(_THREADS, "broker")
        super().__init__(str(path), _Exchange)
        path.chmod(0o600)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Refuse other processes than those that keep connections."""
        trusted = is_trusted(request, supervisor=self._supervisor)
        if not trusted:
            self._log_refusal("stranger", "peer")
        return trusted

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread."""
        self._threads.submit(self._answer_in_thread, request, client_address)

    def server_close(self) -> None:
        """Stop answering."""
        super().server_close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def open_all(self, values: Sequence[SealedValue]) -> dict[str, Any]:
        """Return the contents of all values, or why one of them stays closed."""
        opened: list[str] = []
        for value in values:
            why, content = self._open(value)
            if why is not None:
                self._log_refusal(value.purpose, why)
                return {"refusal": why}
            opened.append(content)
        return {"values": opened}

    def _open(self, value: SealedValue) -> tuple[BrokerRefusal | None, str]:
        if not may_open(value.purpose):
            return BrokerRefusal.NOT_NOW, ""
        connection = connection_of(value.purpose)
        within, new = self._opened.admit(connection)
        if not within:
            return BrokerRefusal.TOO_MANY, ""
        try:
            content = open_value(value.sealed, purpose=value.purpose, keys=opening_keys())
        except (CannotOpenError, SecretUnavailableError):
            return BrokerRefusal.NO_KEY, ""
        except OtherPurposeError:
            return BrokerRefusal.OTHER_USE, ""
        if new:  # once a minute for each
            log.info("secrets opened", connection=connection)
        return None, content

    def _answer_in_thread(self, request: socket.socket, client_address: Any) -> None:
        try:
            self.finish_request(request, client_address)
        except Exception:
            log.exception("secrets broker failed")
        finally:
            self.shutdown_request(request)

    def _log_refusal(self, purpose: str, why: str) -> None:
        if self._refused.admit(f"{purpose} {why}")[1]:
            log.warning("secret refused", purpose=purpose[:200], reason=why)


class _Exchange(socketserver.StreamRequestHandler):
    """A question and its answer."""

    timeout = _SECONDS
    server: SecretBroker

    def handle(self) -> None:
        """Answer a line; whatever else was sent is no question."""
        close_old_connections()
        try:
            answer = self.server.open_all(_read(self.rfile.readline(_MOST_BYTES)))
        except (ValueError, KeyError, TypeError):
            answer = {"refusal": BrokerRefusal.OTHER_USE}
        except DatabaseError:
            log.exception("secrets broker cannot ask the database")
            answer = {"refusal": BrokerRefusal.NO_ANSWER}
        self.wfile.write(json.dumps(answer).encode() + b"\n")


def serve(path: Path, *, supervisor: int | None) -> None:
    """Answer until the process ends."""
    with SecretBroker(path, supervisor=supervisor) as broker:
        # Nothing but a signal ends it: to look twice a second would wake it up for nothing.
        broker.serve_forever(poll_interval=60)


def _read(line: bytes) -> list[SealedValue]:
    return [
        SealedValue(str(item["purpose"]), b64decode(item["sealed"], validate=True))
        for item in parse_json(line)["open"]
    ]
