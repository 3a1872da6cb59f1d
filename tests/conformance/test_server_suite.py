"""The official conformance suite against a reference server behind Pegboard's addresses of MCP.

Each scenario that fails is named here with its reason; one that passes must not be named.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from discovery.calls.execution import BegunCall
from discovery.mcp.server import _mcp_tools
from discovery.mcp.server._client_side import ClientSide
from tests.conformance.suite import NEWEST, STABLE, Outcome, program, run_server_suite

pytestmark = [pytest.mark.processes, pytest.mark.timeout(600)]

_SCHEMA = (
    "A schema's unknown keywords are dropped at registration, so that every provider takes it."
)
_REQUIRED = "No tool requires a task of the client: Pegboard waits for the server's itself."
_HEADERS = "The reference server has no tool with such headers; the SDK's own example neither."
_FULL_NAMES = (
    "The address of all servers lists tools by their full names, and the suite by its own."
)
_UNWATCHED = "Resources are watched at their server's address."
# These say only that nothing came within 500 to 1500 ms, in which a server may have to be started
# first. What comes on a stream of changes is tested in `test_subscriptions.py`.
_TOO_SLOW = (
    "sep-2575-http-server-no-independent-requests-on-stream: Failed to receive",
    "sep-2575-server-no-log-without-loglevel: Logging target endpoint context dropped",
    "sep-2575-server-sends-subscription-ack: Failed to open or receive frames",
    "sep-2575-server-tags-subscription-id: Failed to open stream",
    "sep-2575-server-honors-notification-filter: Strict subscription filtering line failed",
)
OLDER: dict[str, str] = {}
NEWER = {
    "http-custom-header-server-validation": _HEADERS,
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
    behind: str,
    tmp_path: Path,
    release: str,
    generation: str,
    options: tuple[str, ...],
    exceptions: Mapping[str, str],
    is_all: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_mcp_tools, "wait_seconds_of", _wait_for_quick_tools)
    if not program(release).is_file():
        pytest.skip("npm could not fetch the suite: run `make install-tests` with a registry")

    address = behind if is_all else f"{behind}/reference-{generation}"
    outcomes = run_server_suite(release, address, tmp_path, *options)

    failed = {name for name, outcome in outcomes.items() if _failures(outcome)}
    assert failed == set(exceptions), _told(outcomes, failed ^ set(exceptions))
    passed = sum(outcome.passed for outcome in outcomes.values())
    assert passed > len(outcomes) - len(failed)


def _wait_for_quick_tools(begun: BegunCall, client: ClientSide) -> float | None:
    """Make a task of the suite's jobs at once, and of its quick tools never: a busy machine decides
    nothing."""
    name, answers = begun.call.full_name, (begun.call.dialogue or {}).get("answers")
    asks_first = name.endswith("test_tool_with_task") and not answers
    is_quick = not client.takes_tasks or name.endswith("greet") or asks_first
    return None if is_quick else 0


def _failures(outcome: Outcome) -> list[str]:
    return [failure for failure in outcome.failures if not failure.startswith(_TOO_SLOW)]


def _told(outcomes: Mapping[str, Outcome], names: set[str]) -> str:
    lines = (
        f"{name}: {'; '.join(outcomes[name].failures) or 'passes now'}"
        for name in sorted(names)
        if name in outcomes
    )
    return os.linesep.join(lines)
