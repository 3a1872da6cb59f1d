"""The official conformance suite against a deployed Pegboard, with a reference server behind it.

Each scenario that fails is named here with its reason; one that passes must not be named.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.conformance.deployed import Address, deployed
from tests.conformance.suite import NEWEST, STABLE, Outcome, program, run_server_suite

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
