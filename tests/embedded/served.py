"""A small application, served and stopped as Pegboard is."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]


@contextmanager
def served(bind: str, pass_fds: Sequence[int] = ()) -> Iterator[subprocess.Popen[bytes]]:
    """Run gunicorn with `tests.embedded.answering`; stop it and wait at the end."""
    command = [*(sys.executable, "-m", "gunicorn"), "--config=python:tests.embedded.answering"]
    command += [f"--bind={bind}", "tests.embedded.answering"]
    with subprocess.Popen(  # noqa: S603 - ourselves
        command, cwd=PROJECT, stderr=subprocess.DEVNULL, pass_fds=pass_fds
    ) as web:
        try:
            yield web
        finally:
            web.terminate()
