"""The container's entrypoint, run directly."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
ENTRYPOINT = PROJECT / "docker" / "entrypoint.sh"
PATIENCE = 60
NEEDED = {
    "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
    "REDIS_URL": "redis://127.0.0.1:1/0",
    "PEGBOARD_SECRET_KEY": "only-for-this-test",
}

pytestmark = pytest.mark.processes


@pytest.mark.parametrize("name", NEEDED)
def test_missing_setting_is_one_sentence(name: str) -> None:
    answer = _run("web", **(NEEDED | {name: ""}))

    assert answer.returncode == 1
    assert answer.stderr == f"Pegboard cannot run: {name} is not set.\n"


@pytest.mark.parametrize(
    ("words", "started"),
    [
        (["web"], "gunicorn --config=python:marketplace.embedded.web --bind=0.0.0.0:8000 "),
        (["worker"], "celery --app=marketplace.config.celery worker "),
        (
            ["connections"],
            "celery --app=marketplace.config.celery_servers worker --loglevel=INFO --queues=",
        ),
        (["beat"], "celery --app=marketplace.config.celery beat "),
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

    answer = _run(*words, PATH=f"{tmp_path}:{os.environ['PATH']}", **NEEDED)

    assert answer.stdout.startswith(started)


def test_web_answers_without_its_servers_and_stops_when_told(tmp_path: Path) -> None:
    port = _free_port()
    environment = _environment(PORT=str(port), PEGBOARD_DATA_DIR=str(tmp_path), **NEEDED)
    with (tmp_path / "told").open("wb") as told:
        web = subprocess.Popen(  # noqa: S603 - ours
            [ENTRYPOINT, "web"], cwd=PROJECT, env=environment, stdout=told, stderr=told
        )

    try:
        answer = _answer_of(f"http://127.0.0.1:{port}/livez", web)
    finally:
        web.send_signal(signal.SIGTERM)

    assert answer == b"ok\n"
    assert web.wait(PATIENCE) == 0


def _answer_of(url: str, web: subprocess.Popen[bytes]) -> bytes:
    deadline = time.monotonic() + PATIENCE
    while web.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE) as answer:  # noqa: S310 - ours
                return bytes(answer.read())
        except urllib.error.URLError:
            time.sleep(0.1)
    pytest.fail("the web server did not answer")


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


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
