"""The official conformance suites against a deployed Pegboard, as server and for authorization."""

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.request import urlopen

import pytest
from django.test import override_settings
from pytest_django.live_server_helper import LiveServer

from tests.access.people import People, invite
from tests.conformance.deployed import Address, deployed
from tests.conformance.suite import NEWEST, NODE, STABLE, Outcome, program, run_server_suite
from tests.mcp.sdk_client import _settings_of_sign_in as _settings_of_sign_in
from tests.mcp.signing_in import browser, register
from tests.ports import free_port

pytestmark = [pytest.mark.processes, pytest.mark.timeout(900)]

_REQUIRED = "No tool requires a task of the client: Pegboard waits for the server's itself."
_HEADERS = "Arguments that a tool's schema repeats in headers are not compared with them."
_QUICK = "Jobs of a second are answered by their result: a task is made after two."
_FULL_NAMES = (
    "The address of all servers lists tools by their full names, and the suite by its own."
)
_UNWATCHED = "Resources are watched at their server's address."
OLDER: dict[str, str] = {}
NEWER = {
    "http-custom-header-server-validation": _HEADERS,
    "tasks-capability-negotiation": _QUICK,
    "tasks-lifecycle": _QUICK,
    "tasks-wire-fields": _QUICK,
    "tasks-required-task-error": _REQUIRED,
}
OLDER_OF_ALL = {
    "json-schema-2020-12": _FULL_NAMES,
    "resources-subscribe": _UNWATCHED,
    "resources-unsubscribe": _UNWATCHED,
}
NEWER_OF_ALL = {**NEWER, "json-schema-2020-12": _FULL_NAMES}


RUNS = {
    "stable": (STABLE, "legacy", ("--suite", "all"), OLDER, OLDER_OF_ALL),
    "newest-2025-11-25": (NEWEST, "legacy", ("--requirements", "2025-11-25"), OLDER, OLDER_OF_ALL),
    "newest-2026-07-28": (NEWEST, "modern", ("--requirements", "2026-07-28"), NEWER, NEWER_OF_ALL),
}


@pytest.fixture(scope="module")
def pegboard() -> Iterator[dict[str, Address]]:
    if not all(program(release).is_file() for release in (STABLE, NEWEST)):
        pytest.skip("npm could not fetch the suite: run `make install-tests` with a registry")
    with deployed(("legacy", "modern")) as addresses:
        yield addresses


@pytest.mark.parametrize(
    ("release", "generation", "options", "exceptions", "is_all"),
    [
        (*run, exceptions, is_all)
        for *run, of_one, of_all in RUNS.values()
        for is_all, exceptions in ((False, of_one), (True, of_all))
    ],
    ids=[f"{name}-{address}" for name in RUNS for address in ("integration", "all")],
)
def test_server_behind_pegboard_conforms(
    pegboard: Mapping[str, Address],
    tmp_path: Path,
    release: str,
    generation: str,
    options: tuple[str, ...],
    exceptions: Mapping[str, str],
    is_all: bool,
) -> None:
    place = pegboard[generation]
    address = place.of_all if is_all else place.of_server

    outcomes = run_server_suite(release, address, tmp_path, *options)

    failed = {name for name, outcome in outcomes.items() if outcome.failures}
    assert failed == set(exceptions), _told(outcomes, failed ^ set(exceptions))
    passed = sum(outcome.passed for outcome in outcomes.values())
    assert passed > len(outcomes) - len(failed)


def _told(outcomes: Mapping[str, Outcome], names: set[str]) -> str:
    lines = (
        f"{name}: {'; '.join(outcomes[name].failures) or 'passes now'}"
        for name in sorted(names)
        if name in outcomes
    )
    return os.linesep.join(lines)


SCENARIOS = {"authorization-server-metadata-endpoint", "authorization-code-grant"}
_ADDRESS = re.compile(r"http://\S+/oauth/authorize\?\S+")


@pytest.fixture
def people(transactional_db: None) -> People:
    return invite()


@pytest.mark.timeout(300)
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
