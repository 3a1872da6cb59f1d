"""Telling the other processes whether this one can make cells. Workers only."""

import json
from dataclasses import asdict

from django.conf import settings

from acl.platform.redis_circuit import attempt
from catalog.servers.cell.report import KEY, OFF, CellReport
from catalog.servers.cell.support import cell_problem, cell_weakness

_SECONDS = 600  # Celery's heartbeat repeats it


def look() -> CellReport:
    """Return the state of this process, which starts programs."""
    mode = str(settings.PEGBOARD_CELL)
    return CellReport(OFF) if mode == OFF else CellReport(mode, cell_problem(), cell_weakness())


def tell() -> None:
    """Tell the other processes."""
    state = json.dumps(asdict(look()))
    attempt(lambda redis: redis.set(KEY, state, ex=_SECONDS), default=None)
