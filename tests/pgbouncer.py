"""The real PgBouncer in transaction mode, in front of a test's own Postgres."""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.ports import free_port

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")

_CONFIGURATION = """
[databases]
{name} = {target}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 1000
ignore_startup_parameters = options, extra_float_digits
server_round_robin = 1
query_wait_timeout = 60
{more}
"""


@contextmanager
def pooled(postgres: Mapping[str, Any], *, size: int = 4, more: str = "") -> Iterator[int]:
    """Pool connections to `postgres` (psycopg's parameters); yield PgBouncer's port.

    Round robin: a client's next transaction is on another connection, even with one client.
    """
    assert PROGRAM is not None
    given = dict(postgres)
    port = free_port()
    target = " ".join(f"{name}='{value}'" for name, value in given.items() if value)
    with tempfile.TemporaryDirectory(prefix="pegboard-pgbouncer-") as folder:
        path = Path(folder, "pgbouncer.ini")
        path.write_text(
            _CONFIGURATION.format(
                name=given["dbname"], target=target, port=port, size=size, more=more
            )
        )
        command = [PROGRAM, "-q", *(["-u", "nobody"] if os.getuid() == 0 else []), str(path)]
        with subprocess.Popen(command) as process:  # noqa: S603 - PgBouncer
            try:
                _wait(port, process)
                yield port
            finally:
                process.kill()


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        else:
            return


def tracks_statements() -> bool:
    """Return True if the program can keep track of prepared statements."""
    assert PROGRAM is not None
    told = subprocess.run([PROGRAM, "-V"], capture_output=True, text=True, check=True)  # noqa: S603
    found = re.search(r"PgBouncer (\d+)\.(\d+)", told.stdout)
    assert found is not None
    return (int(found[1]), int(found[2])) >= (1, 21)
