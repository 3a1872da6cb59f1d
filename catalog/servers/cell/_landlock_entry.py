"""Landlock, put on in the cell by the process that becomes the program. Standard library only.

The namespaces decide what the program sees; Landlock decides once more what it may do there, also
where a mount or a namespace has a hole: write only into its own folders, make no device files, and
reach no abstract socket or process outside, which matters where it has the whole network. It
forbids mounting, so it comes after bubblewrap, and this text runs in the cell.
"""

import ctypes
import os
import struct
import sys

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same number on every processor
_VERSION_ONLY, _PATH_BENEATH = 1, 1
# By the version of the kernel's interface, what it can forbid in files.
_KNOWN = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_EXECUTE, _WRITE, _READ, _LIST, _TRUNCATE, _CONTROL = 1, 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
_MAKE_DEVICES = 1 << 6 | 1 << 11  # LANDLOCK_ACCESS_FS_MAKE_CHAR and _MAKE_BLOCK
_ABSTRACT_SOCKETS, _SIGNALS = 1, 2


def find_version() -> int:
    """Return the version of Landlock's interface, or 0 where the kernel has none."""
    if sys.platform != "linux":
        return 0
    return max(0, _call(_CREATE, None, 0, _VERSION_ONLY))


def restrict(writable: list[str]) -> None:
    """Restrict this process and all that it starts. Raises OSError."""
    version = find_version()
    # What an older kernel does not know cannot be asked of it: it would refuse the whole set.
    rights = _KNOWN[max(candidate for candidate in _KNOWN if candidate <= version)]
    scopes = _ABSTRACT_SOCKETS | _SIGNALS if version >= 6 else 0
    size = 24 if version >= 6 else 8
    rules = _checked(_CREATE, struct.pack("=QQQ", rights, 0, scopes)[:size], size, 0)
    reading = _EXECUTE | _READ | _LIST
    _allow(rules, "/", reading)
    _allow(rules, "/dev", reading | _WRITE | (_TRUNCATE | _CONTROL) & rights)
    # A device file that the program made would be a way around the mounts.
    for folder in writable:
        _allow(rules, folder, rights & ~_MAKE_DEVICES)
    _checked(_RESTRICT, rules, 0)
    os.close(rules)


def _allow(rules: int, folder: str, access: int) -> None:
    place = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    _checked(_ADD, rules, _PATH_BENEATH, struct.pack("=Qi", access, place), 0)
    os.close(place)


def _call(number: int, *arguments: object) -> int:
    call = ctypes.CDLL(None, use_errno=True).syscall
    longs = (
        ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments
    )
    return int(call(ctypes.c_long(number), *longs))


def _checked(number: int, *arguments: object) -> int:
    result = _call(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


if __name__ == "__main__":
    # The folders, then the program's command.
    end = sys.argv.index("--")
    restrict(sys.argv[1:end])
    command = sys.argv[end + 1 :]
    try:
        os.execv(command[0], command)  # noqa: S606 - checked by launch_rules, no shell
    except OSError as problem:
        os.write(2, f"{command[0]}: {problem.strerror}\n".encode())
        os._exit(127)
