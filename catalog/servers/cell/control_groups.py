"""Control groups: the kernel's own limits on a cell, where the operator delegated some.

Standard library only, since the process guard uses it. Version 2 has one folder for all limits,
version 1 one for each kind. Whoever is a member stays one, whatever it starts.
"""

import contextlib
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

# Of /tmp and /dev/shm in a cell, as in `cell_plan`, which a guard cannot import.
FILES_BYTES = 192 * 1024 * 1024
_PREFIX = "cell-"
_PERIOD = 100_000  # microseconds
_CONTROLLERS = "+memory +pids +cpu"
_OWN = Path("/proc/self/cgroup")
_ROOT = Path("/sys/fs/cgroup")


class CellGroup:
    """The groups of one cell, in each delegated folder."""

    def __init__(self, folders: Iterable[str], limits: Mapping[str, Any]) -> None:
        self._groups: list[Path] = []
        for folder in map(Path, folders):
            with contextlib.suppress(OSError):  # `group_problem` has told it
                self._groups.append(_make(folder, limits))

    def enter(self) -> None:
        """Make the calling process a member."""
        for group in self._groups:
            with contextlib.suppress(OSError):
                (group / "cgroup.procs").write_text(str(os.getpid()))

    @property
    def ran_out_of_memory(self) -> bool:
        """True if the kernel ended a member for its memory."""
        lines = [
            line.split()
            for group in self._groups
            for name in ("memory.events", "memory.oom_control")
            for line in _read(group / name).splitlines()
        ]
        return any(len(line) == 2 and line[0] == "oom_kill" and line[1] != "0" for line in lines)

    def end(self) -> None:
        """Kill all members and remove the groups."""
        for kill in (group / "cgroup.kill" for group in self._groups):
            with contextlib.suppress(OSError):
                if kill.exists():
                    kill.write_text("1")
        for group in self._groups:
            _remove(group)


def _remove(group: Path) -> None:
    for _ in range(1_000):
        try:
            group.rmdir()
        except FileNotFoundError:
            return
        except OSError:  # its last members are about to end
            time.sleep(0.01)
        else:
            return


def _make(folder: Path, limits: Mapping[str, Any]) -> Path:
    with contextlib.suppress(OSError):
        (folder / "cgroup.subtree_control").write_text(_CONTROLLERS)
    for leftover in folder.glob(f"{_PREFIX}*"):
        # By a guard that was killed: of a living one, it may only have no members yet.
        if not Path("/proc", leftover.name.removeprefix(_PREFIX)).exists():
            with contextlib.suppress(OSError):
                leftover.rmdir()
    group = folder / f"{_PREFIX}{os.getpid()}"
    group.mkdir()
    quota = int(limits["cpu_cores"] * _PERIOD)
    values = {
        "memory.max": limits["memory"],
        "memory.swap.max": 0,
        "memory.limit_in_bytes": limits["memory"],
        "pids.max": limits["processes"],
        "cpu.max": f"{quota} {_PERIOD}",
        "cpu.cfs_quota_us": quota,
    }
    for name, most in values.items():
        if (group / name).exists():
            (group / name).write_text(str(most))
    return group


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def delegated_group(membership: Path = _OWN, root: Path = _ROOT) -> str:
    """Return the group that systemd delegated to this process, or "".

    A unit has it with `Delegate=yes` and `DelegateSubgroup=`: processes are in a group below, since
    a group with members of its own limits no others.
    """
    path = next(
        (line[3:] for line in _read(membership).splitlines() if line.startswith("0::/")), "/"
    )
    folder = (root / path.lstrip("/")).parent
    if path == "/" or not os.access(folder / "cgroup.subtree_control", os.W_OK):
        return ""
    with contextlib.suppress(OSError):
        if os.getxattr(folder, "user.delegate") == b"1":
            return str(folder)
    return ""


def group_problem(folder: str) -> str:
    """Return why cells get no limits from a folder, or ""."""
    path = Path(folder)
    if not (path / "cgroup.procs").exists():
        return f"{folder} is not a control group."
    if not os.access(path, os.W_OK):
        return f"The control group {folder} is not Pegboard's: it may not make groups in it."
    return ""
