"""Limits that the kernel sets on a cell: control groups and the filter of system calls."""

import contextlib
import ctypes
import errno
import os
import time
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

# Control groups: the kernel's own limits on a cell, where the operator delegated some.
#
# Standard library only, since the process guard uses it. Version 2 has one folder for all limits,
# version 1 one for each kind. Whoever is a member stays one, whatever it starts.

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


# The system-call filter of a cell, compiled by the system's libseccomp.
#
# libseccomp comes with apt on Debian and Ubuntu, and with systemd elsewhere. It knows the numbers
# of calls on each processor, so no table of ours can be wrong. Without it a cell has no filter, and
# `support` says so.

# Actions and comparisons of libseccomp: SCMP_ACT_ALLOW, SCMP_ACT_ERRNO, SCMP_CMP_EQ, _GT and
# _MASKED_EQ.
_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_EQUAL, _GREATER, _MASKED = 4, 6, 7

# Calls that change the system, look into others, or reach kernel code that no server needs.
_FORBIDDEN = (
    "ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "process_madvise",
    "mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree",
    "open_tree_attr", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "unshare",
    "setns", "sethostname", "setdomainname", "keyctl", "add_key", "request_key", "bpf",
    "perf_event_open", "userfaultfd", "kexec_load", "kexec_file_load", "init_module",
    "finit_module", "delete_module", "create_module", "reboot", "swapon", "swapoff", "acct",
    "quotactl", "quotactl_fd", "syslog", "vhangup", "settimeofday", "clock_settime",
    "clock_settime64", "clock_adjtime", "clock_adjtime64", "adjtimex", "stime", "iopl",
    "ioperm", "modify_ldt", "vm86", "vm86old", "uselib", "nfsservctl", "lookup_dcookie",
    "fanotify_init", "name_to_handle_at", "open_by_handle_at", "mbind", "set_mempolicy",
    "migrate_pages", "move_pages",
)  # fmt: skip
# Said to be absent, so that libraries use something else. Memory that belongs to no process would
# escape the guard, which adds up the memory of processes.
_ABSENT = (
    "clone3", "io_uring_setup", "io_uring_enter", "io_uring_register", "memfd_create",
    "memfd_secret", "shmget",
)  # fmt: skip
_NAMESPACES = (
    0x00000080,  # time
    0x00020000,  # mount
    0x02000000,  # cgroup
    0x04000000,  # UTS
    0x08000000,  # IPC
    0x10000000,  # user
    0x20000000,  # PID
    0x40000000,  # network
)
# Unix, IPv4, IPv6 and netlink remain. Others, such as AF_VSOCK, know no network namespace.
_FAMILIES = tuple(number for number in range(3, 16) if number != 10)
_LAST_FAMILY = 16
# Injecting characters into a terminal.
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C


class _Comparison(ctypes.Structure):
    _fields_ = [
        ("argument", ctypes.c_uint),
        ("operator", ctypes.c_int),
        ("first", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    ]


@cache
def compile_filter() -> bytes:
    """Return the filter as a BPF program, or b"" without libseccomp."""
    library = _load()
    if library is None:
        return b""
    rules = library.seccomp_init(_ALLOW)
    try:
        _add_rules(library, rules)
        return _export(library, rules)
    finally:
        library.seccomp_release(rules)


def _load() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL("libseccomp.so.2")
    except OSError:
        return None
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_init.argtypes = [ctypes.c_uint32]
    library.seccomp_release.argtypes = [ctypes.c_void_p]
    library.seccomp_export_bpf.argtypes = [ctypes.c_void_p, ctypes.c_int]
    library.seccomp_syscall_resolve_name.argtypes = [ctypes.c_char_p]
    library.seccomp_rule_add_array.argtypes = [
        ctypes.c_void_p,
        ctypes.c_uint32,
        ctypes.c_int,
        ctypes.c_uint,
        ctypes.POINTER(_Comparison),
    ]
    return library


def _add_rules(library: ctypes.CDLL, rules: int) -> None:
    for name in _FORBIDDEN:
        _refuse(library, rules, name, errno.EPERM)
    for name in _ABSENT:
        _refuse(library, rules, name, errno.ENOSYS)
    for flag in _NAMESPACES:
        _refuse(library, rules, "clone", errno.EPERM, _Comparison(0, _MASKED, flag, flag))
    for family in _FAMILIES:
        _refuse(library, rules, "socket", errno.EAFNOSUPPORT, _Comparison(0, _EQUAL, family, 0))
    last = _Comparison(0, _GREATER, _LAST_FAMILY, 0)
    _refuse(library, rules, "socket", errno.EAFNOSUPPORT, last)
    for request in (_TIOCSTI, _TIOCLINUX):
        # The kernel reads 32 bits of the request.
        low = _Comparison(1, _MASKED, 0xFFFFFFFF, request)
        _refuse(library, rules, "ioctl", errno.EPERM, low)


def _refuse(
    library: ctypes.CDLL, rules: int, name: str, number: int, *compared: _Comparison
) -> None:
    call = library.seccomp_syscall_resolve_name(name.encode())
    if call == -1:  # the library is older than the call: then nothing here can make it either
        return
    conditions = (_Comparison * len(compared))(*compared)
    library.seccomp_rule_add_array(rules, _ERRNO | number, call, len(compared), conditions)


def _export(library: ctypes.CDLL, rules: int) -> bytes:
    reading, writing = os.pipe()
    try:
        # About 2 KB: less than a pipe holds.
        failed = library.seccomp_export_bpf(rules, writing)
    finally:
        os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        return b"" if failed else pipe.read()
