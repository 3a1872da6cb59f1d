"""The command line of bubblewrap for a cell."""

import os
import shutil
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from catalog.servers.cell import landlock_entry
from catalog.servers.cell.cell_plan import (
    HOME,
    SCRATCH_BYTES,
    SHARED_MEMORY_BYTES,
    TMP_BYTES,
    Cell,
)
from catalog.servers.cell.visible_files import (
    folder_options,
    parent_options,
    program_files,
    system_options,
)

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
        *folder_options([*cell.readable, *interpreter_files()], cell.writable),
        *parent_options(Path(inside)),
        *(["--bind", str(home), inside] if home else _scratch(inside, SCRATCH_BYTES)),
        *["--remount-ro", "/", "--chdir", inside, "--"],
        *_drop_root(cell),
        *_restrict(cell, inside),
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


def _restrict(cell: Cell, inside: str) -> list[str]:
    """Return the command that puts Landlock on, where the kernel has it."""
    if not landlock_version():
        return []
    writable = [inside, "/tmp", "/dev/shm", *map(str, cell.writable)]  # noqa: S108 - the cell's own
    return [str(interpreter()), "-I", "-S", "-c", landlock_text(), *writable, "--"]


@cache
def landlock_version() -> int:
    """Return the version of Landlock's interface here, or 0."""
    return landlock_entry.find_version()


@cache
def landlock_text() -> str:
    """Return the program that puts Landlock on, for an interpreter in the cell."""
    return Path(landlock_entry.__file__).read_text()


def interpreter_files() -> list[Path]:
    """Return the files of that interpreter: the base one, without Pegboard's packages."""
    return program_files([str(interpreter())]) if landlock_version() else []


def interpreter() -> Path:
    """Return the interpreter that Pegboard's own environment is made of."""
    return Path(sys.executable).resolve()


def _scratch(path: str, size: int) -> list[str]:
    return ["--perms", "1777", "--size", str(size), "--tmpfs", path]
