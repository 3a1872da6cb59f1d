"""The broker's socket: a line of JSON with sealed values, and a line with their contents.

Talks to the process that keeps connections, and to the database. Never logs a value.
"""

import json
import socket
import socketserver
from base64 import b64decode
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError, close_old_connections

from acl.platform.strict_json import parse_json
from catalog.servers.secrets.broker_client import BrokerRefusal, SealedValue
from catalog.servers.secrets.encryption_keys import SecretUnavailableError, opening_keys
from catalog.servers.secrets.envelope import CannotOpenError, OtherPurposeError, open_value
from marketplace.operate.secret_broker._admission import RequestWindow, is_trusted
from marketplace.operate.secret_broker._open_permission import connection_of, may_open

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
        broker.serve_forever()


def _read(line: bytes) -> list[SealedValue]:
    return [
        SealedValue(str(item["purpose"]), b64decode(item["sealed"], validate=True))
        for item in parse_json(line)["open"]
    ]
