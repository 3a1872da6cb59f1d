"""The state of cells, told by the process that starts programs through Redis.

The web starts no process, and may run where cells are possible while programs run where they are
not.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from acl.platform.redis_circuit import attempt
from catalog.servers.client.launch_rules import is_container

KEY = "pegboard:cells"
REQUIRED, PREFERRED, OFF = "required", "preferred", "off"


@dataclass(frozen=True, slots=True)
class CellReport:
    """The state of cells. `mode` is that of PEGBOARD_CELL, or "" if nobody has told it."""

    mode: str = ""
    problem: str = ""
    weakness: str = ""
    container: bool = False  # a program that an engine runs apart, without a cell of ours

    @property
    def works(self) -> bool:
        """True if programs run in cells."""
        return self.mode not in ("", OFF) and not self.problem and not self.container

    @property
    def fails(self) -> bool:
        """True if no program can be started."""
        return self.mode == REQUIRED and bool(self.problem) and not self.container

    @property
    def words(self) -> str:
        """The sentence for operators, or ""."""
        if not self.mode:
            return (
                "Unknown: the connections process has not reported whether programs run in "
                "sandboxes."
            )
        if self.mode == OFF:
            return "Programs run without sandboxes (PEGBOARD_CELL=off)."
        if self.fails:
            return f"No program can be started (PEGBOARD_CELL=required). {self.problem}"
        if self.problem:
            return f"Programs run without sandboxes. {self.problem}"
        return self.weakness


def read_report() -> CellReport:
    """Return what the process that starts programs told last."""
    text = attempt(lambda redis: redis.get(KEY), default=None)
    try:
        return CellReport(**json.loads(text)) if text else CellReport()
    except (TypeError, ValueError):  # of another version, during an upgrade
        return CellReport()


def report_for(command: Sequence[str]) -> CellReport:
    """Return how this program will run, from which every page takes its words."""
    return replace(read_report(), container=is_container(command)) if command else CellReport()
