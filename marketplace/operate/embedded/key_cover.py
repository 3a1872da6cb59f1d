"""Covering Pegboard's keys from its own process that talks to strangers, by bubblewrap.

That process sees an empty data folder with only what it works on, and no process but its own. An
ordinary user's process cannot undo this. Root's could: it needs the right to mount, for cells.
"""

import subprocess
import sys
from pathlib import Path

import psutil

from catalog.servers.cell.command import Cell, build_command
from catalog.servers.cell.support import cells_wanted, find_bwrap
from catalog.servers.secrets.encryption_keys import BROKER_FOLDER

# Packages and what programs keep.
_SERVERS = "servers"
# Sockets of the servers, unless they are in /tmp.
_SOCKETS = ("run", BROKER_FOLDER)
_SECONDS = 20
WRAPPER = "bwrap"
UNCOVERED = (
    "Note: Connections, which talks to servers, can read Pegboard's keys, because no cell is made"
    " for it (docs/trust.md)."
)


def cover_keys(data: Path) -> list[str]:
    """Return the words to start a command with, so that it cannot read keys; [] if none work."""
    bwrap = find_bwrap() if cells_wanted() else ""
    if not bwrap:
        return []
    wrapper = [bwrap, "--dev-bind", "/", "/", "--tmpfs", str(data)]
    (data / _SERVERS).mkdir(mode=0o700, exist_ok=True)
    for folder in (data / name for name in (_SERVERS, *_SOCKETS)):
        if folder.is_dir():
            wrapper += ["--bind", str(folder), str(folder)]
    wrapper += ["--unshare-pid", "--proc", "/proc", "--die-with-parent", "--"]
    # Programs must still get cells of their own in there.
    cell = build_command(bwrap, ["/bin/true"], Cell(), home=None)
    return wrapper if _succeeds([*wrapper, *cell]) else []


def innermost(pid: int) -> psutil.Process | None:
    """Return the process that bubblewrap runs, by the id of bubblewrap's or its own."""
    try:
        process = psutil.Process(pid)
        while process.name() == WRAPPER and (children := process.children()):
            process = children[0]
    except psutil.Error:
        return None
    return process


def _succeeds(command: list[str]) -> bool:
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program
            command, env={}, capture_output=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return sys.platform == "linux" and done.returncode == 0
