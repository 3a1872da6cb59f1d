"""Machines without cells: readiness and admins are told, and required cells stop programs."""

import pytest
from pytest_django.fixtures import Settings

from catalog.models import Integration
from catalog.servers.cell import announcement
from catalog.servers.cell.report import CellReport, read_report
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.connections import params
from catalog.servers.connections.params import cell_of, check_cell
from marketplace.operate.checkup.checks.content import cells

PROBLEM = "The system refuses cells: no namespaces."
COMMAND = ("/usr/bin/python3", "/srv/server.py")


@pytest.fixture(params=["required", "preferred", "off"])
def mode(
    request: pytest.FixtureRequest, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> str:
    """Each mode on a machine that makes no cells."""
    settings.PEGBOARD_CELL = str(request.param)
    for module in (params, announcement):
        monkeypatch.setattr(module, "cell_problem", lambda: PROBLEM)
    return str(request.param)


def test_only_required_cells_stop_a_program(mode: str) -> None:
    integration = Integration(pk=1, transport="stdio")

    if mode == "required":
        with pytest.raises(ServerProblemError) as problem:
            cell_of(integration, COMMAND)
        assert (problem.value.reason, problem.value.detail) == (Reason.NO_CELL, PROBLEM)
    else:
        assert cell_of(integration, COMMAND) is None
    check_cell(("docker", "run", "image:1"))  # its engine isolates it


def test_web_tells_what_the_process_that_starts_programs_said(mode: str) -> None:
    announcement.tell()

    part = cells()

    assert read_report().mode == mode
    assert bool(part.problem) is (mode == "required")
    assert PROBLEM in part.problem + part.note or mode == "off"


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (CellReport("preferred"), ""),
        (
            CellReport(),
            "Unknown: the connections process has not reported whether programs run in sandboxes.",
        ),
        (CellReport("off"), "Programs run without sandboxes (PEGBOARD_CELL=off)."),
        (CellReport("preferred", PROBLEM), f"Programs run without sandboxes. {PROBLEM}"),
        (CellReport("preferred", "", "No filter."), "No filter."),
    ],
)
def test_operators_read_one_sentence(report: CellReport, words: str) -> None:
    assert report.words == words
