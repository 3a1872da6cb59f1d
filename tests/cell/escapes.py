"""Attempts of a hostile program in its cell. Standard library only; each is a row of docs.

An attempt returns what it gained, or "" for nothing; an OSError is a refusal. `world` names what
lies outside: paths, process ids, ports, and secrets to look for. No attempt sends a packet to
another machine: it asks the kernel for a route, which a connected datagram socket tells.
"""

import contextlib
import ctypes
import fcntl
import os
import pty
import resource
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

World = dict[str, Any]
Attempt = Callable[[World], object]
ATTEMPTS: dict[str, tuple[str, Attempt]] = {}
CONNECT = "HTTP/1.1\r\nHost: localhost\r\n\r\n"
_LIBC = ctypes.CDLL(None, use_errno=True)
_EPERM, _EACCES, _ENOSYS = 1, 13, 38
# Numbers of system calls, on x86-64 and on 64-bit Arm.
_CALLS = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "pidfd_getfd": (438, 438),
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39),
    "pivot_root": (155, 41), "chroot": (161, 51), "open_tree": (428, 428), "fsopen": (430, 430),
    "move_mount": (429, 429), "keyctl": (250, 219), "add_key": (248, 217), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "kexec_load": (246, 104), "init_module": (175, 105), "reboot": (169, 142),
    "swapon": (167, 224), "acct": (163, 89), "syslog": (103, 116), "sethostname": (170, 161),
    "clock_settime": (227, 112), "settimeofday": (164, 170), "open_by_handle_at": (304, 265),
    "memfd_create": (319, 279), "shmget": (29, 194), "clone3": (435, 435),
}  # fmt: skip


def attempt(place: str, words: str) -> Callable[[Attempt], Attempt]:
    """Register an attempt under what it goes for, and what it does."""

    def register(function: Attempt) -> Attempt:
        ATTEMPTS[words] = (place, function)
        return function

    return register


def run(world: World) -> dict[str, str]:
    """Return what each attempt gained, "" for nothing; `only` names some of them."""
    only = world.get("only", ATTEMPTS)
    return {words: _try(ATTEMPTS[words][1], world) for words in only}


def _try(function: Attempt, world: World) -> str:
    try:
        gained = function(world)
    except (OSError, subprocess.SubprocessError):
        return ""
    return repr(gained)[:300] if gained else ""


def _read(path: str) -> str:
    with open(path, "rb") as file:
        return file.read(1_000_000).decode(errors="replace")


def _holds_secret(text: str, world: World) -> list[str]:
    return [secret for secret in world["secrets"] if secret in text]


def _names(folder: str, *, but: str = "") -> list[str]:
    """List a folder; empty folders on the way to the program's own files do not count."""
    return [name for name in os.listdir(folder) if name != but]


@attempt("files", "List Pegboard's source tree")
def _source(world: World) -> object:
    return _names(f"{world['source']}/marketplace")


@attempt("files", "Read Pegboard's settings module")
def _settings(world: World) -> object:
    return _read(f"{world['source']}/marketplace/config/settings.py")


@attempt("files", "List the data folder")
def _data(world: World) -> object:
    return _names(world["data"], but="servers")


@attempt("files", "Read the key and password files")
def _keys(world: World) -> object:
    gained = []
    for path in world["key_files"]:
        try:
            gained.append(_read(path))
        except OSError:
            continue
    return gained


@attempt("files", "List other programs' packages and folders")
def _others(world: World) -> object:
    return _names(f"{world['data']}/servers", but=world["package"])


@attempt("files", "Read files of the worker's home")
def _home(world: World) -> object:
    return [path for path in world["home_files"] if os.path.exists(path)]


@attempt("files", "Read /etc/shadow and the real accounts")
def _shadow(world: World) -> object:
    accounts = _read("/etc/passwd").splitlines()
    return accounts if len(accounts) > 3 else _read("/etc/shadow")


@attempt("files", "Look into /run, /var, /sys, /srv, /boot and /mnt")
def _places(world: World) -> object:
    return [
        path for path in ("/run", "/var", "/sys", "/srv", "/boot", "/mnt") if os.path.exists(path)
    ]


@attempt("files", "Reach the key file by a link of its own")
def _link(world: World) -> object:
    os.symlink(world["key_files"][0], "/tmp/link")
    return _read("/tmp/link")


@attempt("files", "Reach the real root through /proc/1/root")
def _proc_root(world: World) -> object:
    return [path for path in world["key_files"] if os.path.exists(f"/proc/1/root{path}")]


@attempt("files", "Change its own package")
def _package(world: World) -> object:
    with open(__file__, "a") as file:
        return file.write("#")


@attempt("files", "Write beside its package, into /usr, /etc, / and /dev")
def _write(world: World) -> object:
    return [
        path
        for path in (os.path.dirname(__file__), "/usr", "/etc", "/", "/dev")
        if _can_write(path)
    ]


def _can_write(folder: str) -> bool:
    try:
        with open(f"{folder}/new", "w"):
            return True
    except OSError:
        return False


@attempt("environment", "Find a secret of Pegboard's in its own environment")
def _environment(world: World) -> object:
    return _holds_secret(str(dict(os.environ)) + _read("/proc/self/environ"), world)


@attempt("environment", "Find one in any process's environment or command line")
def _environments(world: World) -> object:
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for name in ("environ", "cmdline"):
            try:
                found += _holds_secret(_read(f"/proc/{pid}/{name}"), world)
            except OSError:
                continue
    return found


@attempt("environment", "Inherit an open file or socket")
def _descriptors(world: World) -> object:
    listing = os.open("/proc/self/fd", os.O_RDONLY)
    return [
        name
        for name in os.listdir(listing)
        if int(name) not in (0, 1, 2, listing) and _is_open(name)
    ]


def _is_open(name: str) -> bool:
    try:
        return bool(os.fstat(int(name)))
    except OSError:
        return False


@attempt("processes", "See processes other than its own")
def _processes(world: World) -> object:
    pids = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if pid != 1]
    return [pid for pid in pids if pid > 100] or len(pids) > 3


@attempt("processes", "Send a signal to the worker")
def _signal(world: World) -> object:
    command = _read(f"/proc/{world['worker']}/cmdline")
    os.kill(world["worker"], 0)
    return command


@attempt("processes", "Open the worker's memory")
def _memory(world: World) -> object:
    with open(f"/proc/{world['worker']}/mem", "r+b", buffering=0) as file:
        return file.fileno()


@attempt("processes", "Trace a process, or read it: ptrace, process_vm_readv, pidfd_getfd")
def _trace(world: World) -> object:
    return _allowed("ptrace", "process_vm_readv", "pidfd_getfd")


@attempt("network", "Have an interface or route besides its own loopback")
def _routes(world: World) -> object:
    routes = _read("/proc/net/route").splitlines()[1:]
    return [name for _, name in socket.if_nameindex() if name != "lo"] + routes


@attempt("network", "Have a route to a cloud's metadata address")
def _metadata(world: World) -> object:
    return _route(socket.AF_INET, "169.254.169.254")


@attempt("network", "Have a route to other machines, IPv4 or IPv6")
def _outside(world: World) -> object:
    found = []
    for family, address in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        try:
            found.append(_route(family, address))
        except OSError:
            continue
    return found


def _route(family: int, address: str) -> object:
    """Connecting a datagram socket sends nothing: the kernel only looks for a route."""
    with socket.socket(family, socket.SOCK_DGRAM) as asking:
        asking.connect((address, 9))
        return asking.getsockname()


@attempt("network", "Connect to this machine's web, Redis or Postgres by TCP")
def _ports(world: World) -> object:
    return [port for port in world["ports"] if _connects(("127.0.0.1", port))]


def _connects(address: Any, family: int = socket.AF_INET) -> bool:
    with socket.socket(family) as asking:
        asking.settimeout(2)
        return asking.connect_ex(address) == 0


@attempt("network", "Connect to the sockets of Postgres and Redis")
def _sockets(world: World) -> object:
    return [path for path in world["sockets"] if _connects(path, socket.AF_UNIX)]


@attempt("network", "Connect to an abstract Unix socket")
def _abstract(world: World) -> object:
    return _connects(f"\0{world['abstract']}", socket.AF_UNIX)


@attempt("network", "Resolve a name")
def _resolve(world: World) -> object:
    return socket.getaddrinfo("example.com", 443)


@attempt("network", "Open raw, packet, VSOCK, kernel-crypto and Bluetooth sockets")
def _families(world: World) -> object:
    opened = []
    raw = ((socket.AF_INET, socket.SOCK_RAW), (socket.AF_PACKET, socket.SOCK_RAW))
    for family, kind in (*raw, *((number, socket.SOCK_STREAM) for number in (40, 38, 31, 16 + 1))):
        try:
            socket.socket(family, kind).close()
        except OSError:
            continue
        opened.append(family)
    return opened


@attempt("network", "Have the proxy connect to a host that is not allowed")
def _unlisted(world: World) -> object:
    return _proxy_answers("unlisted.example:443")


@attempt("network", "Have the proxy connect to an address, or to this machine by a name")
def _literal(world: World) -> object:
    port = world["ports"][0]
    targets = ("127.0.0.1", "[::1]", "2130706433", "localhost", "169.254.169.254")
    return [one for one in targets if _proxy_answers(f"{one}:{port}")]


def _proxy_answers(target: str) -> str:
    with socket.create_connection(("127.0.0.1", 3128), 10) as asking:
        asking.sendall(f"CONNECT {target} HTTP/1.1\r\n\r\n".encode())
        answer = asking.recv(1_000).decode()
    return answer if " 200 " in answer.partition("\r\n")[0] else ""


@attempt("rights", "Become root, or another user")
def _setuid(world: World) -> object:
    gained = []
    for number in (0, 1, 33):
        try:
            os.setuid(number)
        except OSError:
            continue
        gained.append(number)
    return gained


@attempt("rights", "Have capabilities, or gain them by a setuid program")
def _capabilities(world: World) -> object:
    lines = [line.split() for line in _read("/proc/self/status").splitlines()]
    status = {line[0]: line[1] for line in lines if len(line) > 1}
    gained = [name for name in ("CapEff:", "CapPrm:", "CapAmb:") if int(status[name], 16)]
    suid = [path for path in ("/", "/usr", "/tmp") if not os.statvfs(path).f_flag & os.ST_NOSUID]
    return gained + suid + [name for name in ("NoNewPrivs:",) if status[name] != "1"]


@attempt("rights", "Make namespaces: unshare, setns, clone, clone3")
def _namespaces(world: World) -> object:
    user_namespace, chld = 0x10000000, 17
    number = {"x86_64": 56, "aarch64": 220}.get(os.uname().machine)
    if number is not None:
        child = _LIBC.syscall(number, user_namespace | chld, 0, 0, 0, 0)
        if child == 0:
            os._exit(0)
        if child > 0:
            return os.waitpid(child, 0)
    return _allowed("unshare", "setns", "clone3")


@attempt("rights", "Mount, unmount, change root: mount, pivot_root, chroot, open_tree, fsopen")
def _mounts(world: World) -> object:
    return _allowed("mount", "umount2", "pivot_root", "chroot", "open_tree", "fsopen", "move_mount")


@attempt("rights", "Reach keyrings, BPF, perf, userfaultfd, io_uring, file handles")
def _kernel(world: World) -> object:
    return _allowed(
        "keyctl", "add_key", "bpf", "perf_event_open", "userfaultfd", "io_uring_setup",
        "open_by_handle_at",
    )  # fmt: skip


@attempt("rights", "Load a module or kernel, reboot, swap, read the kernel's log")
def _system(world: World) -> object:
    return _allowed("init_module", "kexec_load", "reboot", "swapon", "acct", "syslog")


@attempt("rights", "Set the clock or the host's name")
def _clock(world: World) -> object:
    return _allowed("clock_settime", "settimeofday", "sethostname")


def _allowed(*names: str) -> list[str]:
    """Return the calls that the kernel looked at: it refused neither the call nor the right."""
    column = {"x86_64": 0, "aarch64": 1}.get(os.uname().machine)
    if column is None:
        return []
    zero = ctypes.c_long(0)
    allowed = []
    for name in names:
        # Arguments that could do no harm, should it succeed.
        answer = _LIBC.syscall(_CALLS[name][column], zero, zero, zero, zero, zero, zero)
        if answer >= 0 or ctypes.get_errno() not in (_EPERM, _EACCES, _ENOSYS):
            allowed.append(name)
    return allowed


@attempt("rights", "Write kernel settings: core_pattern, sysrq-trigger, its own OOM score")
def _kernel_files(world: World) -> object:
    written = []
    for path, text in (
        ("/proc/sys/kernel/core_pattern", "|/tmp/x"),
        ("/proc/sysrq-trigger", "h"),
        ("/proc/sys/kernel/hostname", "x"),
        ("/proc/self/oom_score_adj", "-1000"),
    ):
        try:
            with open(path, "w") as file:
                file.write(text)
        except OSError:
            continue
        written.append(path)
    return written


@attempt("devices", "Open disks, memory, /dev/kvm, /dev/fuse, the kernel's log")
def _devices(world: World) -> object:
    names = (
        "mem",
        "kmem",
        "port",
        "kmsg",
        "kvm",
        "fuse",
        "sda",
        "vda",
        "nvme0n1",
        "loop-control",
        "net/tun",
    )
    return [name for name in names if os.path.exists(f"/dev/{name}")]


@attempt("devices", "Make a device file")
def _mknod(world: World) -> object:
    os.mknod("/tmp/null", 0o20666, os.makedev(1, 3))
    return open("/tmp/null", "rb")


@attempt("devices", "Type into a terminal (TIOCSTI), its own or the operator's")
def _terminal(world: World) -> object:
    typed, terminals = [], [pty.openpty()[1]]
    if os.path.exists("/dev/tty"):
        with contextlib.suppress(OSError):
            terminals.append(os.open("/dev/tty", os.O_RDWR))
    for terminal in terminals:
        try:
            fcntl.ioctl(terminal, 0x5412, struct.pack("b", 120))
        except OSError:
            continue
        typed.append(terminal)
    return typed


@attempt("limits", "Raise a limit, or leave a core file")
def _limits(world: World) -> object:
    core = resource.getrlimit(resource.RLIMIT_CORE)[1]
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most + 1_000))
    except (ValueError, OSError):
        return core
    return most


@attempt("limits", "Get a better priority")
def _priority(world: World) -> object:
    os.setpriority(os.PRIO_PROCESS, 0, -10)
    return True


@attempt("limits", "Hold memory that belongs to no process: memfd_create, shmget")
def _anonymous(world: World) -> object:
    return _allowed("memfd_create", "shmget")


@attempt("limits", "Fill /tmp beyond its 128 MB, or /dev/shm beyond 64 MB")
def _fill(world: World) -> object:
    return [path for path, size in (("/tmp", 130), ("/dev/shm", 66)) if _fills(path, size)]


def _fills(folder: str, megabytes: int) -> bool:
    path = f"{folder}/filling"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
        os.posix_fallocate(descriptor, 0, megabytes * 1024 * 1024)
    except OSError:
        return False
    finally:
        if os.path.exists(path):
            os.unlink(path)
    return True


@attempt("limits", "Run more than 1,024 threads at once")
def _forks(world: World) -> object:
    # The guard ends whoever has more than 64 for a quarter of a second, so this is the hard limit.
    return resource.getrlimit(resource.RLIMIT_NPROC)[0] not in range(1, 1_025)


def visit(request: str) -> str:
    """Return what the proxy answers; a second request goes through the tunnel that it opens."""
    with socket.create_connection(("127.0.0.1", 3128), 10) as asking:
        asking.settimeout(10)
        asking.sendall(request.encode())
        answer = asking.recv(1_000)
        if request.startswith("CONNECT"):
            asking.sendall(f"GET / {CONNECT}".encode())
        while part := asking.recv(1_000):
            answer += part
    return answer.decode()


def search(world: World) -> list[str]:
    """Return every readable file, outside the system's and the interpreter's, with a secret."""
    system = ("/usr", "/proc", "/dev", "/lib", "/bin", "/sbin", sys.base_prefix)
    found = []
    for folder, _, names in os.walk("/"):
        if folder.startswith(system):
            continue
        for path in (f"{folder}/{name}" for name in names):
            try:
                if os.path.isfile(path) and _holds_secret(_read(path), world):
                    found.append(path)
            except OSError:
                continue
    return found


def misbehave(kind: str) -> None:
    """Take too much of something; the guard ends the cell."""
    if kind == "forks":
        for _ in range(7):
            try:
                os.fork()
            except OSError:
                break
    if kind == "memory":
        _ = bytearray(400 * 1024 * 1024)
    if kind == "disk":
        for number in range(8):
            with open(f"filling-{number}", "wb") as file:
                file.write(b"x" * 2 * 1024 * 1024)
    time.sleep(60)
