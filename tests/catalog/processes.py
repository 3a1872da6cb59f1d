"""Real workers on the test's database, with a queue of their own that a test may stop."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from celery import current_app
from django.db import connection

from catalog.tasks import embed_capabilities
from marketplace.operate.embedded.redis import EmbeddedRedis

PROJECT = Path(__file__).resolve().parents[2]
PATIENCE = 60  # seconds


def broker_url(queue: EmbeddedRedis) -> str:
    """Return the URL in Celery's notation."""
    return f"redis+{queue.url.replace('unix', 'socket', 1)}"


class Deployment:
    """A queue and the programs started on it; all of them end with the test."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.queue = EmbeddedRedis(data)
        self._workers: list[subprocess.Popen[bytes]] = []
        self.environment = os.environ | {
            "DATABASE_URL": database_url(),
            "REDIS_URL": self.queue.url,
            "PEGBOARD_DATA_DIR": str(data),
            "PEGBOARD_SWEEP_SECONDS": "1",
            "PEGBOARD_SWEEP_AFTER_SECONDS": "1",
        }

    def start_worker(
        self, *options: str, app: str = "tests.catalog.odd_worker", **environment: str
    ) -> subprocess.Popen[bytes]:
        quick = ("--concurrency=1", "--without-gossip", "--without-mingle")
        arguments = ["celery", f"--app={app}", "worker", *quick, *options]
        with (self.data / "worker.log").open("ab") as log:
            worker = subprocess.Popen(  # noqa: S603
                [sys.executable, "-m", *arguments],
                cwd=PROJECT,
                env=self.environment | environment,
                stdout=log,
                stderr=log,
            )
        self._workers.append(worker)
        return worker

    def start_worker_and_beat(self, **options: str) -> subprocess.Popen[bytes]:
        return self.start_worker("--beat", f"--schedule={self.data / 'beat'}", **options)

    def manage(self, *arguments: str) -> None:
        """Run a management command, which must succeed."""
        subprocess.run(  # noqa: S603
            [sys.executable, "manage.py", *arguments],
            cwd=PROJECT,
            env=self.environment,
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=PATIENCE,
        )

    def send(self, ids: list[int]) -> None:
        with current_app.connection_for_write(broker_url(self.queue)) as broker:
            embed_capabilities.apply_async((ids,), connection=broker)

    def stop(self) -> None:
        for worker in self._workers:
            worker.terminate()
        for worker in self._workers:
            worker.wait(PATIENCE)
        self.queue.stop()


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen in {PATIENCE} seconds"
        time.sleep(0.05)


def database_url() -> str:
    """Return the URL of the database that this test uses."""
    values = connection.settings_dict
    signed_in = f"{values['USER']}:{quote(str(values['PASSWORD']), safe='')}"
    return f"postgresql://{signed_in}@{quote(str(values['HOST']), safe='')}/{values['NAME']}"
