"""The cell of an integration's program, by its command, its package, and what an admin allowed."""

from collections.abc import Sequence
from pathlib import Path

from catalog.models import Integration
from catalog.servers.cell.allowed_hosts import HostRules
from catalog.servers.cell.cell_plan import Cell, user_of
from catalog.servers.cell.cell_support import cell_problem, cells_required, cells_wanted
from catalog.servers.cell.visible_files import named_folders, program_files
from catalog.servers.client.launch_rules import is_container
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.connections import egress_rows as egress_rows  # stores what cells log


def check_cell(command: Sequence[str]) -> None:
    """Raise ServerProblemError if cells are required and none can be made."""
    if cells_required() and not is_container(command) and (problem := cell_problem()):
        raise ServerProblemError(Reason.NO_CELL, problem)


def cell_of(
    integration: Integration, command: Sequence[str], place: Path | None = None
) -> Cell | None:
    """Return the cell of a checked command; None if it runs as Pegboard's own account does."""
    check_cell(command)
    if not cells_wanted() or is_container(command) or cell_problem():
        return None
    readable, writable = named_folders(command)
    return Cell(
        readable=(*program_files(command), *([place] if place else []), *readable),
        writable=tuple(writable),
        whole_network=integration.network == Integration.Network.ALL,
        hosts=HostRules(tuple(integration.allowed_hosts)),
        integration=integration.pk,
        user=user_of(integration.pk),
    )
