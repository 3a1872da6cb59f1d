"""The command line of bubblewrap for a cell."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from catalog.servers.cell import _landlock_entry
from catalog.servers.cell.allowed_hosts import HostRules
from catalog.servers.cell.visible_files import (
    folder_options,
    parent_options,
    program_files,
    system_options,
)

# Contents and network of one program's cell. Pure.

HOME = "/home/program"
# A port of the cell's own loopback, which nothing else uses.
PROXY_PORT = 3128
MB = 1024 * 1024
TMP_BYTES = 128 * MB
SHARED_MEMORY_BYTES = 64 * MB
SCRATCH_BYTES = 256 * MB
# Where Pegboard runs as root, programs are users of their own; Debian gives out none of these ids.
FIRST_USER, USERS = 64_000, 900
CLIENT_USER = FIRST_USER + USERS
READER_USER = CLIENT_USER + 1


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell's contents, beside the system's libraries."""

    # Read-only and writable folders and files, at their own paths.
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    # The machine's whole network, or only these hosts.
    whole_network: bool = False
    hosts: HostRules = field(default_factory=HostRules)
    # Whose attempts are recorded; 0 for none.
    integration: int = 0
    user: int = CLIENT_USER


def user_of(integration: int) -> int:
    """Return the user id of an integration's programs."""
    return FIRST_USER + integration % USERS


def proxy_variables() -> Mapping[str, str]:
    """Return the variables that lead HTTP clients to the cell's proxy."""
    address = f"http://127.0.0.1:{PROXY_PORT}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    local_hosts = "localhost,127.0.0.1,::1"
    return {
        **dict.fromkeys(names, address),
        **{name.lower(): address for name in names},
        "NO_PROXY": local_hosts,
        "no_proxy": local_hosts,
        # Node's own clients use a proxy only if told so.
        "NODE_USE_ENV_PROXY": "1",
    }


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
        capabilities = [part for name in _UNTIL_DROPPED for part in ("--cap-add", name)]
        return [*unshared, "--cap-drop", "ALL", *capabilities]
    user_options = ["--unshare-user", "--disable-userns", "--uid", f"{_USER_INSIDE}"]
    return [*unshared, *user_options, "--gid", f"{_USER_INSIDE}", "--cap-drop", "ALL"]


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
    return _landlock_entry.find_version()


@cache
def landlock_text() -> str:
    """Return the program that puts Landlock on, for an interpreter in the cell."""
    return Path(_landlock_entry.__file__).read_text()


def interpreter_files() -> list[Path]:
    """Return the files of that interpreter: the base one, without Pegboard's packages."""
    return program_files([str(interpreter())]) if landlock_version() else []


def interpreter() -> Path:
    """Return the interpreter that Pegboard's own environment is made of."""
    return Path(sys.executable).resolve()


def _scratch(path: str, size: int) -> list[str]:
    return ["--perms", "1777", "--size", str(size), "--tmpfs", path]
