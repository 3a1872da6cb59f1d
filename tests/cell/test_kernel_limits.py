"""Landlock, where the kernel has it, and control groups, where they are delegated."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from catalog.servers.cell import command as cell_command
from catalog.servers.cell._landlock_entry import find_version
from catalog.servers.cell.command import MB, SHARED_MEMORY_BYTES, TMP_BYTES, Cell
from catalog.servers.cell.kernel_limits import FILES_BYTES, CellGroup, delegated_group
from catalog.servers.cell.support import cell_groups, cell_problem, cell_weakness
from catalog.servers.cell.visible_files import open_folder
from catalog.servers.client.mcp_session import Session
from catalog.servers.client.targets import StdioServer
from tests.cell.package_folder import lay_out
from tests.connections.evil_server import QUICK, text_of

pytestmark = pytest.mark.processes
ABSTRACT = "Connect to an abstract Unix socket"
GROUPS = Path("/sys/fs/cgroup")
LIMITS = {"memory": 48 * MB, "processes": 6, "cpu_cores": 0.5}


async def ask(server: StdioServer, tool: str, **arguments: Any) -> Any:
    session = Session(server, limits=QUICK)
    await session.open()
    try:
        return json.loads(text_of(await session.call(tool, arguments, seconds=60)))
    finally:
        await session.close()


@pytest.fixture
def server(cells: None, tmp_path: Path) -> StdioServer:
    """Return the hostile server in a cell that has the whole network."""
    place = tmp_path / "package"
    command = tuple(lay_out(place))
    open_folder(place)
    readable = (place, Path(sys.base_prefix))
    return StdioServer(command, home=tmp_path / "home", cell=Cell(readable, whole_network=True))


@pytest.mark.usefixtures("account")
def test_landlock_closes_sockets_that_the_whole_network_opens(
    server: StdioServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    if find_version() < 6:
        pytest.skip("This kernel's Landlock knows no scopes, or there is none.")
    name = f"pegboard-{uuid.uuid4()}"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"\0{name}")
        listening.listen()
        world = {"abstract": name, "only": [ABSTRACT]}

        with_it = asyncio.run(ask(server, "escape", world=world))
        monkeypatch.setattr(cell_command, "landlock_version", lambda: 0)
        without = asyncio.run(ask(server, "escape", world=world))

    assert with_it == {ABSTRACT: ""}
    assert without[ABSTRACT]


def test_landlock_leaves_only_the_cells_own_folders_writable(tmp_path: Path) -> None:
    if not find_version():
        pytest.skip("This kernel has no Landlock.")
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    look = (
        "import os, sys\n"
        "for path in sys.argv[1:]:\n"
        "    try: open(path, 'w').close(); print('wrote', end=' ')\n"
        "    except PermissionError: print('refused', end=' ')\n"
        "try: os.mknod(os.path.join(os.path.dirname(sys.argv[1]), 'null'), 0o020666, 0x103)\n"
        "except PermissionError: print('no device')\n"
    )
    entry = [sys.executable, "-I", "-S", "-c", cell_command.landlock_text(), str(own), "--"]
    program = [sys.executable, "-I", "-S", "-c", look, str(own / "a"), str(other / "b"), os.devnull]

    told = subprocess.check_output([*entry, *program], text=True)  # noqa: S603 - ours

    assert told.strip() == "wrote refused wrote no device"


@pytest.fixture
def groups() -> Iterator[list[str]]:
    """Control groups as an operator delegates them: one for all limits, or one for each kind."""
    kinds = [line.split(":") for line in Path("/proc/self/cgroup").read_text().splitlines()]
    own = {name: path.lstrip("/") for _, names, path in kinds for name in names.split(",")}
    found: list[Path] = []
    for kind in ("memory", "pids", "cpu"):
        if (GROUPS / kind / "cgroup.procs").exists():
            found.append(GROUPS / kind / own[kind] / f"pegboard-test-{os.getpid()}")
    for root in (GROUPS, GROUPS / "unified"):
        if (root / "cgroup.controllers").exists():
            found.append(root / f"pegboard-test-{os.getpid()}")
    made: list[Path] = []
    try:
        for folder in found:
            with contextlib.suppress(OSError):
                folder.mkdir()
                made.append(folder)
        yield [str(folder) for folder in made]
    finally:
        for folder in made:
            folder.rmdir()


def has(groups: list[str], *names: str) -> bool:
    """Return True if a group made in these has one of the files."""
    trial = CellGroup(groups, LIMITS)
    try:
        return any((group / name).exists() for group in trial._groups for name in names)
    finally:
        trial.end()


def run_in(group: CellGroup, code: str) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603 - ours
        [sys.executable, "-I", "-S", "-c", code],
        preexec_fn=group.enter,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_kernel_ends_what_takes_too_much_memory(groups: list[str]) -> None:
    if not has(groups, "memory.max", "memory.limit_in_bytes"):
        pytest.skip("No control group for memory can be made here.")
    group = CellGroup(groups, LIMITS)

    process = run_in(group, "held = bytearray(200_000_000); print('held')")
    told, _ = process.communicate(timeout=60)

    assert (told, process.returncode, group.ran_out_of_memory) == ("", -signal.SIGKILL, True)
    group.end()


def test_kernel_refuses_too_many_processes(groups: list[str]) -> None:
    if not has(groups, "pids.max"):
        pytest.skip("No control group for processes can be made here.")
    group = CellGroup(groups, LIMITS)
    code = (
        "import os, time\n"
        "made = 0\n"
        "try:\n"
        "    while made < 50:\n"
        "        if os.fork() == 0: time.sleep(300)\n"
        "        made += 1\n"
        "except OSError: print(made, flush=True)\n"
        "time.sleep(300)\n"
    )

    process = run_in(group, code)
    assert process.stdout is not None
    told = process.stdout.readline()
    process.kill()
    deadline = time.monotonic() + 60
    while members := {int(pid) for one in group._groups for pid in _members(one)}:
        assert time.monotonic() < deadline, members
        for member in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)
        process.poll()
    process.communicate()
    group.end()

    assert told == f"{LIMITS['processes'] - 1}\n"  # with itself
    assert not [one for one in group._groups if one.exists()]


def _members(group: Path) -> list[str]:
    return (group / "cgroup.procs").read_text().split()


def test_end_of_a_group_is_the_end_of_all_its_members(groups: list[str]) -> None:
    if not has(groups, "cgroup.kill"):
        pytest.skip("Control groups of version 2 cannot be made here.")
    group = CellGroup(groups, LIMITS)
    process = run_in(group, "import os, time; os.fork(); print('x', flush=True); time.sleep(300)")
    assert process.stdout is not None
    process.stdout.readline()

    group.end()

    assert process.wait(60) == -signal.SIGKILL
    process.stdout.close()
    assert not [one for one in group._groups if one.exists()]


def test_program_of_a_cell_is_in_the_configured_groups(
    server: StdioServer, groups: list[str], settings: Settings
) -> None:
    if not groups:
        pytest.skip("No control group can be made here.")
    settings.PEGBOARD_CELL_GROUPS = tuple(groups)

    async def look() -> list[tuple[str, int, dict[str, str]]]:
        session = Session(server, limits=replace(QUICK, cpu_cores=0.5))
        await session.open()
        try:
            return [_seen(cell) for folder in groups for cell in Path(folder).glob("cell-*")]
        finally:
            await session.close()

    seen = asyncio.run(look())

    assert cell_groups() == groups
    assert "control group" not in cell_weakness()
    assert [folder for folder, _, _ in seen] == groups
    assert all(members >= 2 for _, members, _ in seen)  # bubblewrap and the program
    limits = {name: text for _, _, found in seen for name, text in found.items()}
    memory = QUICK.memory_bytes + FILES_BYTES
    wanted = {
        "memory.max": str(memory), "memory.limit_in_bytes": str(memory),
        "pids.max": str(16 * QUICK.processes), "cpu.cfs_quota_us": "50000",
        "cpu.max": "50000 100000",
    }  # fmt: skip
    assert limits == {name: wanted[name] for name in limits}
    assert not [cell for folder in groups for cell in Path(folder).glob("cell-*")]


def _seen(cell: Path) -> tuple[str, int, dict[str, str]]:
    names = ("memory.max", "memory.limit_in_bytes", "pids.max", "cpu.cfs_quota_us", "cpu.max")
    files = {name: cell / name for name in names if (cell / name).exists()}
    limits = {name: path.read_text().strip() for name, path in files.items()}
    return str(cell.parent), len(_members(cell)), limits


def test_only_groups_of_dead_guards_are_removed(groups: list[str]) -> None:
    if not groups:
        pytest.skip("No control group can be made here.")
    with subprocess.Popen(["/bin/true"]) as gone:
        pass
    folder = Path(groups[0])
    dead, alive = folder / f"cell-{gone.pid}", folder / f"cell-{os.getppid()}"
    dead.mkdir()
    alive.mkdir()

    CellGroup(groups, LIMITS).end()

    assert not dead.exists()
    alive.rmdir()


def test_group_that_is_none_is_told_and_limits_nothing(
    settings: Settings, cells: None, tmp_path: Path
) -> None:
    settings.PEGBOARD_CELL_GROUPS = (str(tmp_path),)

    assert f"{tmp_path} is not a control group." in cell_weakness()
    assert not cell_problem()


def test_group_of_a_unit_is_used_if_systemd_delegated_it(tmp_path: Path) -> None:
    unit = tmp_path / "system.slice" / "pegboard.service"
    (unit / "main").mkdir(parents=True)
    (unit / "cgroup.subtree_control").touch()
    own = tmp_path / "own"
    own.write_text("1:name=systemd:/x\n0::/system.slice/pegboard.service/main\n")

    before = delegated_group(own, tmp_path)
    try:
        os.setxattr(unit, "user.delegate", b"1")
    except OSError:
        pytest.skip("This file system has no attributes of users.")

    assert before == ""
    assert delegated_group(own, tmp_path) == str(unit)


def test_memory_of_a_cells_files_is_counted_beside_the_programs() -> None:
    assert FILES_BYTES == TMP_BYTES + SHARED_MEMORY_BYTES
