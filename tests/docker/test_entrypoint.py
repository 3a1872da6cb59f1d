"""The container's entrypoint, run directly."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from marketplace.config.value_checks import no_encryption_keys
from marketplace.operate.embedded.data_folder import open_data_folder
from marketplace.operate.embedded.postgres import EmbeddedPostgres
from marketplace.operate.embedded.redis import EmbeddedRedis
from tests.ports import free_port

PROJECT = Path(__file__).parents[2]
ENTRYPOINT = PROJECT / "docker" / "entrypoint.sh"
PATIENCE = 150
ROLES = ("web", "worker", "connections", "beat")
NEEDED = {
    "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
    "REDIS_URL": "redis://127.0.0.1:1/0",
    "PEGBOARD_SECRET_KEY": "only-for-this-test",
}
KEYS = {"PEGBOARD_ENCRYPTION_KEYS": "x" * 43 + "="}
WITHOUT_KEYS = ("worker", "connections", "beat")

pytestmark = pytest.mark.processes


@pytest.fixture
def data() -> Iterator[Path]:
    """A data folder accessible to the servers' account, without a model."""
    folder = Path(tempfile.mkdtemp(prefix="pegboard-"))
    open_data_folder(folder)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("name", NEEDED)
def test_missing_setting_is_one_sentence(name: str) -> None:
    answer = _run("web", **(NEEDED | {name: ""}))

    assert answer.returncode == 1
    assert answer.stderr == f"Pegboard cannot run: {name} is not set.\n"


@pytest.mark.parametrize(
    ("words", "started"),
    [
        (
            ["web"],
            "gunicorn --config=python:marketplace.operate.embedded.gunicorn_config"
            " --bind=0.0.0.0:8000 ",
        ),
        (["worker"], "celery --app=marketplace.config.celery worker "),
        (
            ["connections"],
            "celery --app=marketplace.config.celery_servers worker --loglevel=INFO --queues=",
        ),
        (["beat"], "celery --app=marketplace.config.celery beat "),
        (["broker"], "python manage.py broker"),
        (["set-up"], "python manage.py set_up --only=database"),
        (["watch_capabilities"], "python manage.py watch_capabilities"),
        (["createsuperuser", "--email=a b"], "python manage.py createsuperuser --email=a b"),
        ([], "gunicorn "),
    ],
)
def test_word_decides_what_is_started(words: list[str], started: str, tmp_path: Path) -> None:
    for name in ("gunicorn", "celery", "python"):
        program = tmp_path / name
        program.write_text(f'#!/bin/sh\necho {name} "$@"\n')
        program.chmod(0o755)

    answer = _run(*words, PATH=f"{tmp_path}:{os.environ['PATH']}", **NEEDED, **KEYS)

    assert answer.stdout.startswith(started)


def test_secrets_that_are_files_are_read(tmp_path: Path) -> None:
    program = tmp_path / "python"
    told = "$PEGBOARD_SECRET_KEY $DATABASE_URL $DATABASE_OWNER_URL $REDIS_URL $PEGBOARD_REPLICA_URL"
    program.write_text(f'#!/bin/sh\necho "{told}"\n')
    program.chmod(0o755)
    (tmp_path / "pegboard_secret_key").write_text("from-a-file")
    (tmp_path / "database_password").write_text("hush")
    (tmp_path / "database_owner_password").write_text("not-for-this-one")
    (tmp_path / "redis_password").write_text("quiet")

    without = NEEDED | {
        "PEGBOARD_SECRET_KEY": "",
        "SECRETS_DIR": str(tmp_path),
        "DATABASE_URL": "postgresql://app@db:5432/pegboard",
        "DATABASE_OWNER_URL": "postgresql://owner:its-own@db:5432/pegboard",
        "REDIS_URL": "redis://redis:6379/0",
        "PEGBOARD_REPLICA_URL": "postgresql://app@replica:5432/pegboard",
    }
    answer = _run("set-up", PATH=f"{tmp_path}:{os.environ['PATH']}", **without)

    assert answer.stdout.split() == [
        "from-a-file",
        "postgresql://app:hush@db:5432/pegboard",
        "postgresql://owner:its-own@db:5432/pegboard",
        "redis://:quiet@redis:6379/0",
        "postgresql://app:hush@replica:5432/pegboard",
    ]


@pytest.mark.parametrize("file", ["memory.max", "memory/memory.limit_in_bytes"])
@pytest.mark.parametrize(
    ("limit", "asked", "started", "most"),
    [
        ("max", "4", "4", "-"),
        (str(1024**3), "2", "2", "462"),
        (str(1024**3), "4", "3", "308"),
        (str(300 * 1024**2), "2", "1", "200"),
        (str(64 * 1024**3), "16", "16", "-"),
    ],
)
def test_web_starts_no_more_processes_than_fit_and_says_so(
    limit: str, asked: str, started: str, most: str, file: str, tmp_path: Path
) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / file).write_text(f"{limit}\n")
    program = tmp_path / "gunicorn"
    program.write_text("#!/bin/sh\necho $WEB_CONCURRENCY ${PEGBOARD_WEB_MEMORY_MEGABYTES:--}\n")
    program.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"

    answer = _run("web", PATH=path, CGROUP_DIR=str(tmp_path), WEB_CONCURRENCY=asked, **NEEDED)

    assert answer.stdout.split() == [started, most]
    assert ("of them start" in answer.stderr) is (started != asked)


def test_secrets_are_made_once_and_kept_from_others(tmp_path: Path) -> None:
    script = tmp_path / "secrets.sh"
    shutil.copy(PROJECT / "docker" / "secrets.sh", script)

    subprocess.run([script], check=True)  # noqa: S603 - ours
    made = {file.name: file.read_text() for file in (tmp_path / "secrets").iterdir()}
    subprocess.run([script], check=True)  # noqa: S603 - ours

    assert {file.name: file.read_text() for file in (tmp_path / "secrets").iterdir()} == made
    random = [secret for secret in made.values() if secret]  # the others are the operator's
    assert (len(set(random)), len(made)) == (7, 10)
    assert no_encryption_keys(made["pegboard_encryption_keys"]) == ""
    assert (tmp_path / "secrets").stat().st_mode & 0o777 == 0o700


def test_roles_start_before_their_servers_and_stop_when_told(data: Path) -> None:
    """REL-18: each role starts without its servers, reports what is missing, and connects later."""
    postgres, redis = EmbeddedPostgres(data, durable=False), EmbeddedRedis(data, durable=False)
    port = free_port()
    there = {"DATABASE_URL": postgres.url(), "REDIS_URL": redis.url, "PORT": str(port)}
    roles = {
        role: _started(role, data, **NEEDED | there | dict.fromkeys(_keys_missing(role), ""))
        for role in ROLES
    }
    try:
        alive = _answer_of(f"http://127.0.0.1:{port}/livez", roles["web"])
        missing = _ready(port)
        postgres.start()
        redis.start()
        postgres.create_database()
        _wait_until(lambda: {"database", "redis", "worker"}.isdisjoint(_ready(port)["degraded"]))
        _wait_until(lambda: all(_is_healthy(role, data, PORT=str(port)) for role in ROLES))
        # Nobody asks beat for its health. Before it sends, it may end by the signal's default.
        _wait_until(lambda: "Sending due task" in _told(data, "beat"))
    finally:
        for process in roles.values():
            process.send_signal(signal.SIGTERM)
        codes = {role: process.wait(PATIENCE) for role, process in roles.items()}
        redis.stop()
        postgres.stop()

    assert alive == b"ok\n"
    assert missing["ready"] is False
    assert {"database", "redis", "worker", "model"} <= set(missing["degraded"])
    assert codes == dict.fromkeys(ROLES, 0), {
        role: _told(data, role)[-2000:] for role, code in codes.items() if code
    }


def _keys_missing(role: str) -> list[str]:
    return ["PEGBOARD_SECRET_KEY", *KEYS] if role in WITHOUT_KEYS else []


def _started(role: str, data: Path, **environment: str) -> subprocess.Popen[bytes]:
    temporary = data / role
    temporary.mkdir()
    own = {"TMPDIR": str(temporary), "PEGBOARD_DATA_DIR": str(data), "WEB_CONCURRENCY": "1"}
    with (data / f"{role}.told").open("wb") as told:
        return subprocess.Popen(  # noqa: S603 - ours
            [ENTRYPOINT, role],
            cwd=PROJECT,
            env=_environment(**environment, **own),
            stdout=told,
            stderr=told,
        )


def _told(data: Path, role: str) -> str:
    return (data / f"{role}.told").read_text("utf-8")


def _is_healthy(role: str, data: Path, **environment: str) -> bool:
    return _run("healthy", TMPDIR=str(data / role), **environment).returncode == 0


def _ready(port: int) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=PATIENCE) as answer:
            return dict(json.load(answer))
    except urllib.error.HTTPError as refusal:
        return dict(json.load(refusal))


def _answer_of(url: str, web: subprocess.Popen[bytes]) -> bytes:
    answers: list[bytes] = []

    def answered() -> bool:
        assert web.poll() is None, "the web server has ended"
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE) as answer:  # noqa: S310 - ours
                answers.append(bytes(answer.read()))
        except urllib.error.URLError:
            return False
        return True

    _wait_until(answered)
    return answers[0]


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def _run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - ours
        [ENTRYPOINT, *words],
        cwd=PROJECT,
        env=_environment(**environment),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def _environment(**changes: str) -> dict[str, str]:
    programs = Path(sys.executable).parent
    return os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"} | changes
