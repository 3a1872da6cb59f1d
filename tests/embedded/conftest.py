import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from marketplace.operate.embedded.data_folder import open_data_folder
from marketplace.operate.embedded.postgres import EmbeddedPostgres
from marketplace.operate.embedded.redis import EmbeddedRedis


@pytest.fixture
def data() -> Iterator[Path]:
    """A data folder accessible to the servers' account, which pytest's own are not."""
    folder = Path(tempfile.mkdtemp(prefix="pegboard-"))
    open_data_folder(folder)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def start(data: Path) -> Iterator[Callable[..., EmbeddedPostgres]]:
    """Starts a Postgres on the data folder; all are stopped at the end."""
    started: list[EmbeddedPostgres] = []

    def start_postgres(*, durable: bool = False) -> EmbeddedPostgres:
        server = EmbeddedPostgres(data, durable=durable)
        started.append(server)
        server.start()
        return server

    yield start_postgres
    for server in started:
        server.stop()


@pytest.fixture(scope="module")
def shared() -> Iterator[EmbeddedPostgres]:
    """A Postgres with its database, for all tests of a file that only look."""
    folder = Path(tempfile.mkdtemp(prefix="pegboard-"))
    open_data_folder(folder)
    server = EmbeddedPostgres(folder, durable=False)
    server.start()
    server.create_database()
    yield server
    server.stop()
    shutil.rmtree(folder)


@pytest.fixture
def queue(data: Path) -> Iterator[EmbeddedRedis]:
    server = EmbeddedRedis(data)
    server.start()
    yield server
    server.stop()
