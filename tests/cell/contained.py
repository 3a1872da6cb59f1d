"""The part of `test_container` in the container: print what Pegboard says and does there.

First as in `docker/compose.yaml`; then under a filter that refuses namespaces and mounts, as
Docker's default profile does for whoever may not administer the system.
"""

import asyncio
import ctypes
import errno
import json
import os
import secrets
import socket
from dataclasses import asdict
from pathlib import Path
from typing import Any

import django

PROFILE = Path(__file__).parents[2] / "docker" / "cell-seccomp.json"
_REFUSED = (
    "mount", "umount2", "pivot_root", "unshare", "setns", "fsopen", "fsconfig", "fsmount", "fspick",
    "open_tree", "move_mount", "mount_setattr",
)  # fmt: skip
Said = dict[str, Any]
_MOST_OF_A_CELL = 300


def profile_of(path: Path = PROFILE) -> bytes:
    """Return a profile of Docker's that refuses calls, as bubblewrap takes it."""
    from catalog.servers.cell import kernel_limits as seccomp

    library = seccomp._load()
    assert library is not None
    rules = library.seccomp_init(seccomp._ALLOW)
    [refusing] = json.loads(path.read_text())["syscalls"]
    for name in refusing["names"]:
        seccomp._refuse(library, rules, name, refusing["errnoRet"])
    return seccomp._export(library, rules)


def refuse_namespaces() -> None:
    """Forbid namespaces and mounts to this process and its children."""
    from catalog.servers.cell import kernel_limits as seccomp

    library = seccomp._load()
    assert library is not None
    library.seccomp_load.argtypes = [ctypes.c_void_p]
    rules = library.seccomp_init(seccomp._ALLOW)
    for name in _REFUSED:
        seccomp._refuse(library, rules, name, errno.EPERM)
    seccomp._refuse(library, rules, "clone3", errno.ENOSYS)
    for flag in seccomp._NAMESPACES:
        held = seccomp._Comparison(0, seccomp._MASKED, flag, flag)
        seccomp._refuse(library, rules, "clone", errno.EPERM, held)
    assert library.seccomp_load(rules) == 0


def main() -> None:
    """Print what is said and done in each mode, without and with the filter."""
    django.setup()
    from catalog.servers.cell.support import cell_problem

    said = {"open": _in_each_mode(), "account": _account()}
    refuse_namespaces()
    cell_problem.cache_clear()
    said["closed"] = _in_each_mode()
    print(json.dumps(said))  # noqa: T201 - its answer


def _account() -> Said:
    lines = (line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    status = {name: value.strip() for name, value in lines}
    return {name: status[name] for name in ("Uid", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp")}


def _in_each_mode() -> dict[str, Said]:
    from django.conf import settings

    said = {}
    for mode in ("required", "preferred"):
        settings.PEGBOARD_CELL = mode
        said[mode] = _start(mode)
    return said


def _start(mode: str) -> Said:
    """Start the hostile server as an installed program is started, and let it try."""
    from catalog.models import Integration
    from catalog.servers.cell.support import look
    from catalog.servers.client.server_problems import ServerProblemError
    from catalog.servers.connections.params import cell_of
    from tests.cell.package_folder import lay_out

    said: Said = {"report": asdict(report := look()), "words": report.words}
    data = _data_folder()
    place = data / "servers" / f"hostile-{mode}-{secrets.token_hex(4)}"
    command = lay_out(place)
    try:
        cell = cell_of(Integration(pk=1, transport="stdio"), command, place)
    except ServerProblemError as problem:
        return {**said, "refused": str(problem.reason), "detail": problem.detail}
    return {**said, "cell": cell is not None, **asyncio.run(_try(command, cell, place, mode))}


def _data_folder() -> Path:
    from django.conf import settings

    data = Path(settings.PEGBOARD_DATA_DIR)
    data.mkdir(exist_ok=True)
    return data


async def _try(command: list[str], cell: Any, place: Path, mode: str) -> Said:
    from catalog.servers.client.mcp_session import Session
    from catalog.servers.client.targets import StdioServer
    from tests.cell.outside import outside
    from tests.connections.evil_server import QUICK, text_of

    server = StdioServer(tuple(command), home=place.parent / "home", cell=cell)
    session = Session(server, limits=QUICK)
    database = place.parents[1] / "database"
    canary = f"canary-{secrets.token_hex(16)}"
    with socket.socket(socket.AF_UNIX) as listening:
        database.unlink(missing_ok=True)
        listening.bind(str(database))
        listening.listen()
        data = place.parents[1]
        with outside(canary, data=data, package=place.name, sockets=[database]) as world:
            await session.open()
            try:
                said = {"honest": text_of(await session.call("echo", {"text": "hello"}))}
                if cell is not None and mode == "required":
                    for tool in ("escape", "search"):
                        answer = await session.call(tool, {"world": world}, seconds=60)
                        said[tool] = json.loads(text_of(answer))
            finally:
                await session.close()
    return said


def in_late_process() -> None:
    """Continue in a process with a number that no process of a cell has."""
    number = 0
    while number < _MOST_OF_A_CELL:
        number = os.fork()
        if number == 0:
            os._exit(0)
        os.waitpid(number, 0)
    if worker := os.fork():
        os._exit(os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]))


if __name__ == "__main__":
    in_late_process()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.config.settings")
    main()
