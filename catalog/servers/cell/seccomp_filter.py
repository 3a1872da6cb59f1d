"""The system-call filter of a cell, compiled by the system's libseccomp.

libseccomp comes with apt on Debian and Ubuntu, and with systemd elsewhere. It knows the numbers of
calls on each processor, so no table of ours can be wrong. Without it a cell has no filter, and
`cell_support` says so.
"""

import ctypes
import errno
import os
from functools import cache

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
