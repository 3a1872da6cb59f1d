"""LOG-1: each line of the log is one JSON object, whatever it contains and whoever logs it."""

import json
import os
import subprocess
import sys

import pytest

from marketplace.config.logs import LONGEST_TEXT

NAMES = ("a\r\nb", "\x1b[2J\x1b]0;owned\x07", "nul\x00", "\x9b31m\x85", "\u2028x\u2029", "\ud83dx")
# Each program sets up its log as in production, then logs each name in each way.
SAYS = """
import logging, sys, structlog
NAMES = {names}
def say(logger):
    for name in NAMES:
        logger.error("event %s", name)
        logger.error(name)
        try:
            raise ValueError(name)
        except ValueError:
            logger.exception("failed")
    print(len(NAMES) * 3)
"""
DJANGO = """
import django
django.setup()
say(logging.getLogger("django.request"))
"""
STRUCTLOG = """
import django
django.setup()
for name in NAMES:
    structlog.get_logger("catalog").warning(name, name=name)
print(len(NAMES))
"""
GUNICORN = """
from gunicorn.app.base import Application
class Web(Application):
    def init(self, *_): pass
    def load(self): pass
config = "--config=python:marketplace.operate.embedded.gunicorn_config"
sys.argv = ["gunicorn", config, "--access-logfile=-"]
log = Web().cfg.logger_class(Web().cfg)
say(log.error_log)
say(log.access_log)
"""
CELERY = """
from marketplace.config.celery import app
app.log.setup(loglevel="INFO", redirect_stdouts=False)
from celery.utils.log import get_task_logger
say(get_task_logger("x"))
say(logging.getLogger("celery.worker"))
"""
# The worker's part: a server whose output is logged.
SERVER = """
import asyncio
import django
django.setup()
from catalog.servers.client.server_problems import ServerProblemError
from catalog.servers.client.mcp_session import Session
from tests.connections.evil_server import server, QUICK
async def run():
    session = Session(server("babbles"), limits=QUICK)
    try:
        await session.open()
    finally:
        await session.close()
try:
    asyncio.run(run())
except ServerProblemError as problem:
    structlog.get_logger("catalog").exception(problem.detail, last_words=problem.detail)
print(1)
"""
LONG = """
import django
django.setup()
logging.getLogger("django.request").error("x" * 1_000_000)
structlog.get_logger("catalog").warning("short", detail="y" * 1_000_000)
print(2)
"""
NEXT = "-" * 70  # between what two parts of a program say


def said(style: str, *parts: str) -> list[tuple[list[str], int]]:
    """Run the parts as one program, which costs a second each time; return each part's lines of the
    log, and their expected number."""
    between = f"\nprint({NEXT!r}, file=sys.stderr); print({NEXT!r})\n"
    done = subprocess.run(  # noqa: S603 - ourselves
        [sys.executable, "-c", SAYS.replace("{names}", ascii(NAMES)) + between.join(parts)],
        env=os.environ | {"PEGBOARD_LOG_FORMAT": style, "PEGBOARD_LOG_LEVEL": "INFO"},
        capture_output=True,
        check=True,
    )
    logs = done.stderr.decode().removesuffix("\n").split(f"{NEXT}\n")
    counts = done.stdout.decode().split(NEXT)
    return [
        (log.removesuffix("\n").split("\n"), sum(map(int, count.split())))
        for log, count in zip(logs, counts, strict=True)
    ]


@pytest.mark.processes
def test_lines_of_django_structlog_and_servers_are_each_one_object() -> None:
    names, long, servers = said("json", DJANGO + STRUCTLOG, LONG, SERVER)

    assert_each_is_an_object(*names)
    assert_each_is_bounded(*long)
    assert_words_of_a_server_are_one_printable_field(*servers)


@pytest.mark.processes
@pytest.mark.parametrize("program", [GUNICORN, CELERY], ids=["gunicorn's logs", "celery's"])
def test_no_name_makes_a_second_line(program: str) -> None:
    [lines] = said("json", program)

    assert_each_is_an_object(*lines)


def assert_each_is_an_object(lines: list[str], expected: int) -> None:
    assert len(lines) == expected
    for line in lines:
        assert line.isascii()
        assert line.isprintable()
        assert isinstance(json.loads(line), dict)


def assert_each_is_bounded(lines: list[str], expected: int) -> None:
    assert len(lines) == expected
    assert max(map(len, lines)) < LONGEST_TEXT + 1_000
    assert "characters left out" in lines[0]


def assert_words_of_a_server_are_one_printable_field(lines: list[str], expected: int) -> None:
    assert len(lines) == expected
    assert lines[0].isascii()
    words = json.loads(lines[0])["last_words"]
    assert "the end" in words
    assert "exit code 1" in words
    assert len(words) <= 500
    assert all(part.isprintable() for part in words.split("\n"))


@pytest.mark.processes
def test_text_to_read_has_no_control_characters() -> None:
    (tracebacks, fewest), (names, expected) = said("text", DJANGO, STRUCTLOG)

    assert len(tracebacks) > fewest  # tracebacks have several lines
    assert len(names) == expected
    assert all(line.isprintable() for line in (*tracebacks, *names))
