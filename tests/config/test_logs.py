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
from tests.mcp_client.evil_server import server, QUICK
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
PROGRAMS = {
    "django and structlog": DJANGO + STRUCTLOG,
    "gunicorn's two logs": GUNICORN,
    "celery's tasks and worker": CELERY,
}


def said(program: str, style: str) -> tuple[list[str], int]:
    """Return the log's lines, and the expected number."""
    done = subprocess.run(  # noqa: S603 - ourselves
        [sys.executable, "-c", SAYS.replace("{names}", ascii(NAMES)) + program],
        env=os.environ | {"PEGBOARD_LOG_FORMAT": style, "PEGBOARD_LOG_LEVEL": "INFO"},
        capture_output=True,
        check=True,
    )
    return done.stderr.decode().removesuffix("\n").split("\n"), sum(map(int, done.stdout.split()))


@pytest.mark.processes
@pytest.mark.parametrize("who", PROGRAMS)
def test_no_name_makes_a_second_line(who: str) -> None:
    lines, expected = said(PROGRAMS[who], "json")

    assert len(lines) == expected
    for line in lines:
        assert line.isascii()
        assert line.isprintable()
        assert isinstance(json.loads(line), dict)


@pytest.mark.processes
def test_line_is_bounded_whatever_is_said() -> None:
    lines, expected = said(LONG, "json")

    assert len(lines) == expected
    assert max(map(len, lines)) < LONGEST_TEXT + 1_000
    assert "characters left out" in lines[0]


@pytest.mark.processes
def test_words_of_a_server_are_one_printable_field() -> None:
    [line], _ = said(SERVER, "json")

    assert line.isascii()
    words = json.loads(line)["last_words"]
    assert "the end" in words
    assert "exit code 1" in words
    assert len(words) <= 500
    assert all(part.isprintable() for part in words.split("\n"))


@pytest.mark.processes
def test_traceback_to_read_has_no_control_characters() -> None:
    lines, expected = said(DJANGO, "text")

    assert len(lines) > expected  # tracebacks have several lines
    assert all(line.isprintable() for line in lines)


@pytest.mark.processes
def test_text_to_read_has_no_name_as_it_was_written() -> None:
    lines, expected = said(STRUCTLOG, "text")

    assert len(lines) == expected
    assert all(line.isprintable() for line in lines)
