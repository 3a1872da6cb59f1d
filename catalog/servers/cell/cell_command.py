"""The command line of bubblewrap for a cell."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from catalog.servers.cell.cell_plan import (
    HOME,
    SCRATCH_BYTES,
    SHARED_MEMORY_BYTES,
    TMP_BYTES,
    Cell,
)
from catalog.servers.cell.visible_files import folder_options, parent_options, system_options

_USER_INSIDE = 1_000
# Until setpriv drops them: to become another user, and to enter that user's folder before.
_UNTIL_DROPPED = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_DAC_READ_SEARCH")


def build_command(
    bwrap: str, command: Sequence[str], cell: Cell, *, home: Path | None, inside: str = HOME
) -> list[str]:
    """Return the command that runs a program in its cell; without `home` it gets a scratch one."""
    return [
        bwrap,
        *_namespaces(cell),
        *["--die-with-parent", "--new-session", "--hostname", "program"],
        *system_options(whole_network=cell.whole_network),
        # Whoever is root outside could write there without any right inside.
        *["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev"],
        *_scratch("/dev/shm", SHARED_MEMORY_BYTES),  # noqa: S108 - the cell's own
        *["--remount-ro", "/dev"],
        *_scratch("/tmp", TMP_BYTES),  # noqa: S108 - the cell's own
        *folder_options(cell.readable, cell.writable),
        *parent_options(Path(inside)),
        *(["--bind", str(home), inside] if home else _scratch(inside, SCRATCH_BYTES)),
        *["--remount-ro", "/", "--chdir", inside, "--"],
        *_drop_root(cell),
        *command,
    ]


def _namespaces(cell: Cell) -> list[str]:
    """Return the options for namespaces and rights.

    As root there is no user namespace: its user would be root outside, whom files in /proc/sys
    obey. There the program becomes another user instead.
    """
    unshared = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    if not cell.whole_network:
        unshared.append("--unshare-net")
    if os.geteuid() == 0:
        kept = [part for name in _UNTIL_DROPPED for part in ("--cap-add", name)]
        return [*unshared, "--cap-drop", "ALL", *kept]
    own = ["--unshare-user", "--disable-userns", "--uid", f"{_USER_INSIDE}"]
    return [*unshared, *own, "--gid", f"{_USER_INSIDE}", "--cap-drop", "ALL"]


def _drop_root(cell: Cell) -> list[str]:
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv", path="/usr/bin:/bin:/usr/sbin:/sbin") or "/usr/bin/setpriv"
    user = str(cell.user)
    nobody = ["--reuid", user, "--regid", user, "--clear-groups"]
    return [setpriv, *nobody, "--inh-caps=-all", "--bounding-set=-all", "--"]


def _scratch(path: str, size: int) -> list[str]:
    return ["--perms", "1777", "--size", str(size), "--tmpfs", path]
