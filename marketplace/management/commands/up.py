"""`manage.py up`: run all of Pegboard, with embedded Postgres and Redis if none are configured."""

import os
import sys
from argparse import ArgumentParser
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import redis
from django.conf import settings
from django.core.management.base import BaseCommand

from catalog.servers.cell.support import look
from catalog.servers.secrets.encryption_keys import SEALING_KEY_FILE, add_key, key_file
from marketplace.operate.embedded.data_folder import (
    CannotRun,
    Lock,
    open_broker_folder,
    open_data_folder,
    read_or_create_key,
)
from marketplace.operate.embedded.disk_guard import DiskGuard
from marketplace.operate.embedded.key_cover import UNCOVERED, cover_keys
from marketplace.operate.embedded.pegboard_programs import (
    Broker,
    ConnectionsProgram,
    Watcher,
    Web,
    Worker,
    check_port,
    set_up,
)
from marketplace.operate.embedded.postgres import EmbeddedPostgres
from marketplace.operate.embedded.redis import EmbeddedRedis
from marketplace.operate.embedded.supervisor import (
    Supervisor,
    ignoring_signals,
    stopping_on_signals,
)

_OWNER_VARIABLES = {"DATABASE_OWNER_URL", "DATABASE_SUPERUSER_URL"}
_OPENING_VARIABLES = {"PEGBOARD_ENCRYPTION_KEYS"}
# What only web and worker need: they talk to nobody that the operator has not configured.
_WEB_VARIABLES = {
    "PEGBOARD_SECRET_KEY",
    "PEGBOARD_ADMIN_PASSWORD",
    "PEGBOARD_OIDC_CLIENT_SECRET",
    "PEGBOARD_EMAIL_URL",
    "PEGBOARD_EMBEDDING_KEY",
}


class Command(BaseCommand):
    help = "Start Pegboard: database, queue, web server and worker. Ctrl-C stops them all."
    requires_system_checks: list[str] = []  # the database may not exist yet

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument(
            "--host", default="127.0.0.1", help="0.0.0.0 accepts connections from other machines"
        )

    def handle(self, *args: Any, host: str, port: int, **options: Any) -> None:
        data = Path(settings.PEGBOARD_DATA_DIR).resolve()
        lock = Lock(data)
        supervisor = Supervisor(self._write, data=data)
        # Files that set no mode themselves, such as Celery's schedule, become private.
        os.umask(0o077)
        with stopping_on_signals():
            try:
                check_port(host, port)
                open_data_folder(data)
                lock.acquire()
                _run(supervisor, data, host, port)
            except KeyboardInterrupt:
                supervisor.say("")
            except CannotRun as problem:
                sys.exit(f"Pegboard cannot run: {problem}")
            finally:
                with ignoring_signals():
                    supervisor.stop()
                    lock.release()

    def _write(self, text: str) -> None:
        self.stdout.write(text, ending="")
        self.stdout.flush()


def _run(supervisor: Supervisor, data: Path, host: str, port: int) -> None:
    if not os.environ.get("PEGBOARD_SECRET_KEY"):
        read_or_create_key(data, "secret_key")
    if not settings.PEGBOARD_ENCRYPTION_KEYS and not key_file().exists():
        add_key(key_file())
    # The DATABASE_URL of the environment, if it is set.
    url = os.environ.get("DATABASE_URL")
    setup_environment = {
        **os.environ,
        "PEGBOARD_DATA_DIR": str(data),
        "PYTHONPATH": str(settings.BASE_DIR),
        **(({"DATABASE_URL": url} if url else {}) or _start_postgres(supervisor, data)),
        "REDIS_URL": _check_redis(os.environ.get("REDIS_URL", ""))
        or _start_redis(supervisor, data),
    }
    folder = open_broker_folder(data)
    # Serving programs get only the application's own database role, and no encryption key.
    opening = _without(setup_environment, _OWNER_VARIABLES) | {
        "PEGBOARD_BROKER": str(folder / "socket"),
        "PEGBOARD_SEALING_KEY": str(folder / SEALING_KEY_FILE),
    }
    environment = _without(opening, _OPENING_VARIABLES)
    broker = Broker(socket_path=folder / "socket", logs=data / "logs", environment=opening)
    supervisor.begin(broker)  # it asks the database only when it is asked itself
    set_up(setup_environment)
    supervisor.start(broker)
    supervisor.start(Web(host=host, port=port, logs=data / "logs", environment=environment))
    supervisor.start(Worker(data=data, environment=environment))
    outgoing = _without(environment, _WEB_VARIABLES)
    wrapper = cover_keys(data)
    supervisor.start(ConnectionsProgram(logs=data / "logs", environment=outgoing, wrapper=wrapper))
    supervisor.start(Watcher(logs=data / "logs", environment=environment))
    if not wrapper:
        supervisor.say(f"\n{UNCOVERED}")
    if words := look().words:
        supervisor.say(f"\n{words}")
    supervisor.say(f"\nPegboard runs on http://localhost:{port}/ and Ctrl-C stops it.")
    supervisor.watch()


def _without(environment: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    """Return an environment without some variables."""
    return {name: value for name, value in environment.items() if name not in names}


def _start_postgres(supervisor: Supervisor, data: Path) -> dict[str, str]:
    server = EmbeddedPostgres(data)
    supervisor.start(server)
    server.create_database()
    guard = DiskGuard(server, say=supervisor.say, released=supervisor.retry_now)
    supervisor.call_each_tick(guard.look)
    return {"DATABASE_URL": server.url(), "DATABASE_OWNER_URL": server.owner_url()}


def _start_redis(supervisor: Supervisor, data: Path) -> str:
    server = EmbeddedRedis(data)
    supervisor.start(server)
    return server.url


def _check_redis(url: str) -> str:
    """Return the URL after its Redis has answered; CannotRun otherwise."""
    try:
        if url:
            with redis.Redis.from_url(url, socket_timeout=5, socket_connect_timeout=5) as client:
                client.ping()
    except (redis.RedisError, ValueError) as problem:
        place = urlsplit(url).netloc.rpartition("@")[2] or url
        raise CannotRun(f"Redis at {place} does not respond ({problem}).") from None
    return url
