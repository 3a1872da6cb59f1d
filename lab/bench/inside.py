"""Servers for a measurement, and processes that run with their addresses."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from catalog.embedding.shipped_model import prepare_model
from marketplace.operate.embedded.data_folder import open_data_folder
from marketplace.operate.embedded.postgres import EmbeddedPostgres
from marketplace.operate.embedded.redis import EmbeddedRedis

# Creates a database of that name, and returns the environment for it.
Opened = Callable[[str], dict[str, str]]


@contextmanager
def servers() -> Iterator[Opened]:
    """Start Postgres, Redis and the model in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="pegboard-bench-") as name:
        data = Path(name)
        open_data_folder(data)
        postgres, redis = EmbeddedPostgres(data), EmbeddedRedis(data)
        postgres.start()
        redis.start()

        def opened(database: str) -> dict[str, str]:
            postgres.create_database(database)
            # As the owner of the tables, who may also refresh their statistics.
            return _environment(data, postgres.owner_url(database), redis)

        try:
            for trained in (False, True):  # selected by PEGBOARD_TRAINED_ENCODER
                prepare_model(data / "model", trained=trained)
            yield opened
        finally:
            redis.stop()
            postgres.stop()


def run_inside(module: str, *arguments: str) -> None:
    """Run `python -m module arguments` with the servers' addresses."""
    with servers() as opened:
        command = [sys.executable, "-m", module, *arguments]
        subprocess.run(command, env=opened("bench"), check=True)  # noqa: S603 - ourselves


def _environment(data: Path, database_url: str, redis: EmbeddedRedis) -> dict[str, str]:
    return os.environ | {
        "DATABASE_URL": database_url,
        "REDIS_URL": redis.url,
        "PEGBOARD_DATA_DIR": str(data),
        "PEGBOARD_SECRET_KEY": "only-for-benchmarks-and-never-for-anything-else",
        "PEGBOARD_LOG_LEVEL": "WARNING",
        "PEGBOARD_RATE_PER_KEY": "1000000",
        "PEGBOARD_RATE_PER_PERSON": "1000000",
        "PEGBOARD_CPU_PER_KEY": "100000000",
        "PEGBOARD_CPU_PER_PERSON": "100000000",
        "DJANGO_SETTINGS_MODULE": "marketplace.config.settings",
    }
