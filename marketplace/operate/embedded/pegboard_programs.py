"""Pegboard's own programs: secrets broker, web server, two workers, and the manifest watcher."""

import errno
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import psutil

from marketplace.operate.embedded._child_processes import start_child, stop_child, wait_until
from marketplace.operate.embedded.data_folder import CannotRun
from marketplace.operate.embedded.key_cover import innermost

# Longer than gunicorn's graceful timeout of 30 s (gunicorn_config.py).
STOP_SECONDS = 35
# A third of the time for which a worker counts as alive (acl/platform/processes.py).
HEARTBEAT_SECONDS = 5
PROBE_SECONDS = 5.0


class Program:
    """Child process running a Python module of ours."""

    serves_others = False

    def __init__(
        self,
        name: str,
        arguments: Sequence[str | Path],
        *,
        log: Path,
        environment: Mapping[str, str],
        wrapper: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.log = log
        self.process: subprocess.Popen[bytes] | None = None
        self._begins = False
        self._command = [*wrapper, sys.executable, "-m", *arguments]
        self._environment = environment

    def begin(self) -> subprocess.Popen[bytes]:
        """Start the program, and leave it to itself until `start` waits for it."""
        self.process = start_child(self._command, log=self.log, environment=self._environment)
        self._begins = True
        return self.process

    def start(self) -> None:
        """Start the program, unless it begins already, and wait until it is ready."""
        child = self.process if self._begins and self.process else self.begin()
        self._begins = False
        wait_until(self.is_ready, child=child, name=self.name, log=self.log)

    def stop(self) -> None:
        """Stop the program, giving it time to finish its work."""
        if self.process is not None:
            stop_child(self.process, by=signal.SIGTERM, seconds=STOP_SECONDS)

    def is_ready(self) -> bool:
        """Return True if the program does its work."""
        return True


class Broker(Program):
    """The secrets broker: alone it has the encryption keys."""

    serves_others = True

    def __init__(self, *, socket_path: Path, logs: Path, environment: Mapping[str, str]) -> None:
        self._socket = socket_path
        arguments = ["django", "broker", f"--supervisor={os.getpid()}"]
        super().__init__("Broker", arguments, log=logs / "broker.log", environment=environment)

    def begin(self) -> subprocess.Popen[bytes]:
        """Start the broker, whose socket says that it is ready."""
        self._socket.unlink(missing_ok=True)  # of one that was killed
        return super().begin()

    def is_ready(self) -> bool:
        """Return True if the broker listens."""
        return self._socket.exists()


class Web(Program):
    """gunicorn on `host` and `port`."""

    def __init__(self, *, host: str, port: int, logs: Path, environment: Mapping[str, str]) -> None:
        self._address = (host, port)
        arguments = [
            "gunicorn",
            "--config=python:marketplace.operate.embedded.gunicorn_config",
            f"--bind={_url_host(host)}:{port}",
            "marketplace.config.wsgi",
        ]
        # With an arena for each thread, glibc keeps a fifth more of what was freed.
        environment = {"MALLOC_ARENA_MAX": "2", **environment}
        super().__init__("Web", arguments, log=logs / "web.log", environment=environment)

    def is_ready(self) -> bool:
        """Return True if the server answers: it listens before its workers have loaded."""
        host, port = self._address
        reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared only
        connection = HTTPConnection(reached, port, timeout=PROBE_SECONDS)
        try:
            connection.request("GET", "/healthz")
            connection.getresponse()
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()
        return True


class Worker(Program):
    """Celery with one worker process and an embedded beat. Only one may run."""

    def __init__(self, *, data: Path, environment: Mapping[str, str]) -> None:
        arguments: list[str | Path] = [
            "celery",
            "--app=marketplace.config.celery",
            "worker",
            "--beat",
            f"--schedule={data / 'beat-schedule'}",
            "--concurrency=1",
            "--without-gossip",
            "--without-mingle",
            f"--heartbeat-interval={HEARTBEAT_SECONDS}",
            "--loglevel=INFO",
        ]
        log = data / "logs" / "worker.log"
        super().__init__("Worker", arguments, log=log, environment=environment)


class ConnectionsProgram(Program):
    """Celery with threads: the process that keeps connections to MCP servers.

    `wrapper` runs it where Pegboard's keys cannot be read.
    """

    def __init__(
        self, *, logs: Path, environment: Mapping[str, str], wrapper: Sequence[str] = ()
    ) -> None:
        arguments = [
            "celery",
            "--app=marketplace.config.celery_servers",
            "worker",
            "--queues=servers",
            "--hostname=servers@%h",
            "--pool=threads",
            "--concurrency=16",
            "--without-gossip",
            "--without-mingle",
            f"--heartbeat-interval={HEARTBEAT_SECONDS}",
            "--loglevel=INFO",
        ]
        log = logs / "connections.log"
        super().__init__(
            "Connections", arguments, log=log, environment=environment, wrapper=wrapper
        )

    def stop(self) -> None:
        """Stop the process inside first: bubblewrap passes on no signal, and would kill it."""
        inner = innermost(self.process.pid) if self.process is not None else None
        if inner is not None and self.process is not None and inner.pid != self.process.pid:
            with suppress(psutil.Error):
                inner.terminate()
                inner.wait(STOP_SECONDS)
        super().stop()


class Watcher(Program):
    """Loads manifests from watched folders when they change."""

    def __init__(self, *, logs: Path, environment: Mapping[str, str]) -> None:
        arguments = ["django", "watch_capabilities"]
        super().__init__(
            "Manifests", arguments, log=logs / "manifests.log", environment=environment
        )


def set_up(environment: Mapping[str, str]) -> None:
    """Run `manage.py set_up` in a child process, which returns its memory when it ends."""
    child = start_child(
        [sys.executable, "-m", "django", "set_up"], log=None, environment=environment
    )
    try:
        code = child.wait()
    finally:
        stop_child(child)
    if code:
        raise CannotRun("the setup failed; see the messages above.")


def check_port(host: str, port: int) -> None:
    """Raise CannotRun if nothing can listen on `host` and `port`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as problem:
        if problem.errno == errno.EADDRINUSE:
            raise CannotRun(
                f"Port {port} is already in use: choose another, as in `make run PORT={port + 1}`."
            ) from problem
        raise CannotRun(
            f"Pegboard cannot listen on {host} port {port} ({os.strerror(problem.errno or 0)}): "
            "choose another port, as in `make run PORT=8001`."
        ) from problem


def _url_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host
