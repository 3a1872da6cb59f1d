"""Servers of their own for a measurement, which runs in a process that knows them."""

import subprocess
import sys
import tempfile
from pathlib import Path

from catalog.embedding.shipped import prepare_model
from marketplace.embedded.folders import open_data_folder
from marketplace.embedded.postgres import EmbeddedPostgres
from marketplace.embedded.redis import EmbeddedRedis
from tests.bench.__main__ import _environment


def run_inside(module: str, size: str) -> None:
    """`python -m module --inside size` beside Postgres, Redis and the model; all go afterwards."""
    with tempfile.TemporaryDirectory(prefix="pegboard-bench-") as name:
        data = Path(name)
        open_data_folder(data)
        postgres, redis = EmbeddedPostgres(data), EmbeddedRedis(data)
        postgres.start()
        redis.start()
        try:
            prepare_model(data / "model")
            postgres.create_database("bench")
            command = [sys.executable, "-m", module, "--inside", size]
            environment = _environment(data, postgres, redis, "bench")
            subprocess.run(command, env=environment, check=True)  # noqa: S603 - ourselves
        finally:
            redis.stop()
            postgres.stop()
