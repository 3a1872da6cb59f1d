"""The hook for LiteLLM's proxy, run by LiteLLM's own pre-call chain in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_django.live_server_helper import LiveServer

from discovery.models import Call
from tests.access.people import People

PROJECT = Path(__file__).parents[2]
LITELLM = PROJECT / ".venv" / "litellm"
PROGRAM = Path(__file__).parent / "litellm_program.py"


@pytest.mark.processes
@pytest.mark.timeout(900)
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_worker", "notes")
@pytest.mark.skipif(
    not (LITELLM / "litellm").is_dir(),
    reason="LiteLLM could not be fetched: run `make install-tests` with a package index",
)
def test_chat_gets_the_tools_of_who_asks(people: People, key: str, live_server: LiveServer) -> None:
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, str(PROGRAM), live_server.url, key],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join([str(LITELLM), str(PROJECT / "docs" / "client")]),
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # otherwise it asks another machine
            "LITELLM_MODE": "PRODUCTION",  # otherwise it reads .env files
        },
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert {"own", "notes__echo"} <= set(told.pop("offered"))
    assert told == {"ran": "1: hello", "stranger": ["own"], "unreachable": ["own"]}
    assert Call.objects.get().user == people.alice
