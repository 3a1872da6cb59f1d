"""A pytest plugin: one embedded Postgres and Redis, and the model, for the whole run.

They start while pytest loads its plugins, before pytest-django reads the settings, unless
DATABASE_URL and REDIS_URL are set. The workers of pytest-xdist inherit the environment, and with it
the addresses.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from catalog.embedding.shipped_model import prepare_model
from marketplace.operate.embedded.data_folder import open_data_folder
from marketplace.operate.embedded.postgres import EmbeddedPostgres
from marketplace.operate.embedded.redis import EmbeddedRedis
from marketplace.operate.embedded.text_catalogues import CATALOGUES, compile_catalogues

SUPERUSER = "DATABASE_SUPERUSER_URL"


def start_missing() -> None:
    """Start what the environment does not name, in a temporary data folder."""
    compile_catalogues(CATALOGUES)
    if {"DATABASE_URL", "REDIS_URL", "PEGBOARD_DATA_DIR"} <= os.environ.keys():
        _take_own_part_of_redis()
        return
    data = Path(tempfile.mkdtemp(prefix="pegboard-tests-"))
    atexit.register(shutil.rmtree, data, ignore_errors=True)
    open_data_folder(data)
    os.environ.setdefault("PEGBOARD_DATA_DIR", str(data))
    os.environ.setdefault("PEGBOARD_SECRET_KEY", "only-for-tests")
    # Starting a cell takes time, so only the tests that are about programs and packages do.
    os.environ.setdefault("PEGBOARD_CELL", "off")
    # On a busy machine Redis is slow but not down; tests of its absence stop it.
    os.environ.setdefault("PEGBOARD_REDIS_TIMEOUT_MS", "1000")
    if "DATABASE_URL" not in os.environ:
        _start_postgres(data)
    if "REDIS_URL" not in os.environ:
        _start_redis(data)
    # Before anything asks for the model, since its absence would be cached for a while. After the
    # servers, since it reads the settings, which would not have their addresses.
    prepare_model(data / "model")


def _start_postgres(data: Path) -> None:
    server = EmbeddedPostgres(data, durable=False, keep_superuser=True)
    server.start()
    atexit.register(server.stop)
    # Tests connect as the application's role, so that missing privileges fail.
    os.environ["DATABASE_URL"] = server.url("pegboard")
    os.environ["DATABASE_OWNER_URL"] = server.owner_url("pegboard")
    os.environ[SUPERUSER] = server.superuser_url("postgres")


def _start_redis(data: Path) -> None:
    server = EmbeddedRedis(data, durable=False)
    server.start()
    atexit.register(server.stop)
    os.environ["REDIS_URL"] = server.url


def _take_own_part_of_redis() -> None:
    """Use a Redis database of this process's own: rows in other processes have the same ids."""
    worker, url = os.environ.get("PYTEST_XDIST_WORKER", ""), os.environ["REDIS_URL"]
    if worker and url.startswith("unix://") and "?" not in url:
        os.environ["REDIS_URL"] = f"{url}?db={int(worker.removeprefix('gw')) % 15 + 1}"


start_missing()
