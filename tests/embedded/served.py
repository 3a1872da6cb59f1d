"""A small application, served and ended as Pegboard is."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]


@contextmanager
def served(bind: str, pass_fds: Sequence[int] = ()) -> Iterator[subprocess.Popen[bytes]]:
    """gunicorn with `tests.embedded.answering`; who leaves the block has it end, and waits."""
    command = [*(sys.executable, "-m", "gunicorn"), "--config=python:tests.embedded.answering"]
    command += [f"--bind={bind}", "tests.embedded.answering"]
    with subprocess.Popen(  # noqa: S603 - ourselves
        command, cwd=PROJECT, stderr=subprocess.DEVNULL, pass_fds=pass_fds
    ) as web:
        try:
            yield web
        finally:
            web.terminate()
