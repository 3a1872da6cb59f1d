"""A complete Pegboard as by `make run`, on servers of its own for a test to stop.

Tests prepare the database in their own process, since each command takes seconds.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from cryptography.fernet import Fernet
from django.core.management import call_command
from django.test import override_settings

from catalog.embedding.shipped_model import prepare_model
from marketplace.operate.embedded.data_folder import open_data_folder
from marketplace.operate.embedded.pegboard_programs import (
    ConnectionsProgram,
    Program,
    Watcher,
    Web,
    Worker,
)
from marketplace.operate.embedded.postgres import EmbeddedPostgres
from marketplace.operate.embedded.redis import EmbeddedRedis
from tests.databases import connected_to_server
from tests.ports import free_port

PROJECT = Path(__file__).resolve().parents[2]
PATIENCE = 180  # seconds until a wait fails
MISSING = "SELECT count(*) FROM catalog_embedding WHERE vector_hash IS DISTINCT FROM text_hash"


class Deployment:
    """Postgres, Redis, and programs started by name with the current environment."""

    def __init__(self, data: Path) -> None:
        self.data = data
        # A shared machine's disk is not under test.
        self.postgres = EmbeddedPostgres(data, durable=False)
        self.redis = EmbeddedRedis(data, durable=False)
        self.port = free_port()
        self.key = ""
        self.sealed_by = Fernet.generate_key().decode()
        self.environment = os.environ | {
            "DATABASE_URL": self.postgres.url(),
            "DATABASE_OWNER_URL": self.postgres.owner_url(),
            "REDIS_URL": self.redis.url,
            "PEGBOARD_DATA_DIR": str(data),
            "PEGBOARD_SECRET_KEY": "only-for-tests-and-never-for-anything-else",
            "PEGBOARD_ENCRYPTION_KEYS": self.sealed_by,
            "PEGBOARD_SWEEP_SECONDS": "1",
            "PEGBOARD_SWEEP_AFTER_SECONDS": "1",
            "PEGBOARD_LOG_LEVEL": "WARNING",
            "PEGBOARD_RATE_PER_KEY": "1000000",
            "PEGBOARD_RATE_PER_PERSON": "1000000",
            "PEGBOARD_CPU_PER_KEY": "100000000",
            "PEGBOARD_CPU_PER_PERSON": "100000000",
            "DJANGO_SETTINGS_MODULE": "marketplace.config.settings",
            "PYTHONPATH": str(PROJECT),
        }
        self._programs: dict[str, Program] = {}

    def start(self, *names: str) -> None:
        """Start some of web, worker, beat, connections and manifests; `@2` is another one."""
        for name in names:
            self._programs[name] = program = self._made(name)
            program.start()

    def stop(self, *names: str) -> None:
        for name in names:
            self._programs.pop(name).stop()

    def pid(self, name: str) -> int:
        process = self._programs[name].process
        assert process is not None
        return process.pid

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.postgres.owner_url(), autocommit=True) as session:
            cursor = session.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Connect Django in this process to the deployment."""
        with (
            connected_to_server(self.postgres.url(), self.postgres.owner_url()),
            override_settings(REDIS_URL=self.redis.url, PEGBOARD_ENCRYPTION_KEYS=(self.sealed_by,)),
        ):
            yield

    def close(self) -> None:
        self.stop(*reversed(self._programs))
        self.redis.stop()
        self.postgres.stop()

    def log(self, name: str) -> str:
        """Return what a program has logged."""
        return self._programs[name].log.read_text()

    def _made(self, name: str) -> Program:
        name, _, number = name.partition("@")
        logs, environment = self.data / "logs" / number, dict(self.environment)
        logs.mkdir(exist_ok=True)
        if name == "manifests":
            return Watcher(logs=logs, environment=environment)
        if name == "beat":
            arguments: list[str | Path] = ["celery", "--app=marketplace.config.celery", "beat"]
            arguments += ["--pidfile=", f"--schedule={logs / 'schedule'}", "--loglevel=INFO"]
            return Program("Beat", arguments, log=logs / "beat.log", environment=environment)
        if name == "web":
            return Web(host="127.0.0.1", port=self.port, logs=logs, environment=environment)
        if name == "worker":
            return Worker(data=self.data, environment=environment)
        return ConnectionsProgram(logs=logs, environment=environment)


@contextmanager
def deployed(make_tables: Callable[[Deployment], None]) -> Iterator[Deployment]:
    """Migrate and load the starter collection with vectors, alice and her key; start no program."""
    data = Path(tempfile.mkdtemp(prefix="pegboard-operations-"))
    open_data_folder(data)
    deployment = Deployment(data)
    try:
        _copy_model(data / "model")
        deployment.postgres.start()
        deployment.redis.start()
        make_tables(deployment)
        with deployment.connected():
            deployment.key = _fill()
        yield deployment
    finally:
        deployment.close()
        shutil.rmtree(data)


def migrated(deployment: Deployment) -> None:
    """Create the tables by migrations."""
    deployment.postgres.create_database()
    with deployment.connected():
        call_command("migrate", interactive=False, verbosity=0)


def _fill() -> str:
    from django.contrib.auth.models import Group

    from acl.keys.lifecycle import create_key
    from tests.factories import UserFactory

    call_command("load_starter", verbosity=0)
    call_command("embed_pending", verbosity=0)
    _keep_examples()
    group = Group.objects.get(name="everyone")
    UserFactory.create(username="alice", groups=[group])
    return create_key(
        by=None, name="load", group=group, scopes=["select", "discover"], acts_for_users=True
    )[1]


def _keep_examples() -> None:
    """Put the vectors of the examples into Redis, as an earlier web process would have done.

    Both of the first ones would embed 2,500 texts.
    """
    from catalog.embedding.configured_embedder import answering_embedder
    from discovery.select import example_texts, judgements

    for examples in (judgements._classifiers, example_texts._abilities):
        examples._build(answering_embedder().name)


def _copy_model(folder: Path) -> None:
    """Copy the test run's model if there is one: converting it takes seconds."""
    made = Path(os.environ.get("PEGBOARD_DATA_DIR") or "/nowhere") / "model"
    if made.is_dir():
        shutil.copytree(made, folder)
    else:
        prepare_model(folder)


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen in {PATIENCE} seconds"
        time.sleep(0.05)
