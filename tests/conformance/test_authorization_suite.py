"""The official conformance suite for authorization servers against Pegboard's own."""

import json
import re
import subprocess
from pathlib import Path
from urllib.request import urlopen

import pytest
from django.test import override_settings
from pytest_django.live_server_helper import LiveServer

from tests.access.people import People, invite
from tests.conformance.suite import NEWEST, NODE, program
from tests.mcp.sdk_client import _settings_of_sign_in as _settings_of_sign_in
from tests.mcp.signing_in import browser, register
from tests.ports import free_port

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]
SCENARIOS = {"authorization-server-metadata-endpoint", "authorization-code-grant"}
_ADDRESS = re.compile(r"http://\S+/oauth/authorize\?\S+")


@pytest.fixture
def people(transactional_db: None) -> People:
    return invite()


def test_authorization_server_conforms(
    people: People, live_server: LiveServer, tmp_path: Path
) -> None:
    if not program(NEWEST).is_file():
        pytest.skip("npm could not fetch the suite: run `make install-tests` with a registry")
    port = free_port()
    client_id = register([f"http://127.0.0.1:{port}/callback"]).json()["client_id"]
    host = live_server.url.removeprefix("http://")
    command = [str(NODE), str(program(NEWEST)), "authorization", "--url", live_server.url]
    command += ["--client-id", client_id, "--resource", f"{live_server.url}/mcp"]
    command += ["--port", str(port), "-o", str(tmp_path)]

    with (
        override_settings(ALLOWED_HOSTS=["*"]),
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as suite,  # noqa: S603
    ):
        assert suite.stdout is not None
        for line in suite.stdout:
            if found := _ADDRESS.search(line):
                path = found[0].removeprefix(live_server.url)
                answered = browser(people.alice, headers={"Host": host}).post(
                    path, {"decision": "allow"}
                )
                urlopen(answered["Location"], timeout=60).close()  # noqa: S310 - the suite's own

    checks = {
        file.parent.name: [one["status"] for one in json.loads(file.read_text())]
        for file in tmp_path.rglob("checks.json")
    }
    assert {name for name in SCENARIOS if any(name in folder for folder in checks)} == SCENARIOS
    assert {status for statuses in checks.values() for status in statuses} <= {"SUCCESS", "INFO"}
