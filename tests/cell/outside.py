"""The outside of a cell: key files, listeners, and a secret in the environment."""

import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings


@contextmanager
def outside(
    canary: str, *, data: Path, package: str, sockets: Iterable[Path]
) -> Iterator[dict[str, Any]]:
    """Plant the canary, listen, and yield what `escapes` needs to know of it."""
    planted = [data / name for name in ("secret_key", "encryption_keys")]
    planted = [path for path in planted if not path.exists()]
    home_file = Path.home() / f".{canary}"
    database = settings.DATABASES["default"]
    found = [canary, *settings.PEGBOARD_ENCRYPTION_KEYS, str(settings.SECRET_KEY)]
    found += [str(database["PASSWORD"])] if database["PASSWORD"] else []
    abstract = f"pegboard-{canary}"
    with ExitStack() as stack:
        os.environ["PEGBOARD_TEST_CANARY"] = canary
        stack.callback(os.environ.pop, "PEGBOARD_TEST_CANARY")
        for path in (*planted, home_file):
            path.write_text(canary)
            stack.callback(path.unlink)
        tcp, unix = socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_UNIX)
        stack.enter_context(tcp)
        stack.enter_context(unix).bind(f"\0{abstract}")
        unix.listen()
        yield {
            "source": str(settings.BASE_DIR),
            "data": str(data),
            "key_files": [str(path) for path in sorted(data.iterdir()) if path.is_file()],
            "home_files": [str(home_file), str(Path.home() / ".config"), str(Path.home() / ".ssh")],
            "package": package,
            "worker": os.getpid(),
            "secrets": found,
            "ports": [tcp.getsockname()[1]],
            "sockets": [str(path) for path in sockets],
            "abstract": abstract,
        }
