"""The escapes in a container without extra privileges, like that of `docker/compose.yaml`.

bubblewrap makes it here: an ordinary user of the machine, without capabilities and ways to gain
any, under the seccomp profile of the compose file, with files, processes and network of its own.
Nested in it are the cells. Then it may make no namespaces any more, as with Docker's own profile.
"""

import json
import os
import re
import secrets
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from django.template.loader import render_to_string

from acl.platform.redis_circuit import attempt
from catalog.servers.cell.report import KEY, CellReport
from catalog.servers.cell.support import find_bwrap
from catalog.servers.cell.visible_files import parent_options
from catalog.servers.client.server_problems import Reason
from marketplace.operate.checkup.checks.content import cells
from tests.cell.contained import profile_of
from tests.cell.escapes import ATTEMPTS

pytestmark = pytest.mark.processes
PROJECT = Path(__file__).parents[2]
_USER = "64990"
_KEPT = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")  # until setpriv drops them
Said = dict[str, Any]


@pytest.fixture(scope="module")
def said() -> Said:
    """Answers of Pegboard in the container: with namespaces, then without."""
    if (
        os.geteuid() == 0
        and not PROJECT.stat().st_mode & (PROJECT / "manage.py").stat().st_mode & 4
    ):
        pytest.skip("Only this account may read the project, and the container has another.")
    profile, content = profile_of(), os.pipe()
    os.write(content[1], profile)
    os.close(content[1])
    command = [*_container(content[0]), sys.executable, "-m", "tests.cell.contained"]
    try:
        done = subprocess.run(  # noqa: S603 - ours
            command, env=_environment(), capture_output=True, pass_fds=[content[0]], check=False
        )
    finally:
        os.close(content[0])
    if not done.stdout and re.search(rb"^(bwrap|unshare|setpriv): ", done.stderr, re.MULTILINE):
        pytest.skip(f"No container can be made here: {done.stderr.decode()[-200:]}")
    assert done.returncode == 0, done.stderr.decode()
    told: Said = json.loads(done.stdout)
    return told


def _container(profile: int) -> list[str]:
    """Return the command that runs another in the container."""
    shown = {PROJECT.resolve(), Path(sys.base_prefix), Path(sys.prefix)}
    files = [part for path in sorted(shown) for part in (*parent_options(path), *_read_only(path))]
    system = [part for name in ("/bin", "/sbin", "/lib", "/lib64") for part in _link(Path(name))]
    root = os.geteuid() == 0
    # bubblewrap covers parts of its own /proc as root; the compose file wants it as it is.
    own_proc = ["/usr/bin/unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    rights = [part for name in _KEPT for part in ("--cap-add", name)] if root else []
    spaces = ["--bind", "/proc", "/proc"] if root else ["--unshare-pid", "--proc", "/proc"]
    user = ["--reuid", _USER, "--regid", _USER, "--clear-groups", "--inh-caps=-all"]
    return [
        *(own_proc if root else []),
        find_bwrap(),
        *["--unshare-ipc", "--unshare-uts", "--unshare-net", "--die-with-parent"],
        *["--cap-drop", "ALL", *rights, *spaces, "--seccomp", str(profile)],
        *["--ro-bind", "/usr", "/usr", *system, "--ro-bind", "/etc", "/etc", "--dev", "/dev"],
        *["--perms", "1777", "--tmpfs", "/tmp", *files, "--chdir", str(PROJECT), "--"],  # noqa: S108
        *(["/usr/bin/setpriv", *user, "--bounding-set=-all", "--"] if root else []),
    ]


def _read_only(path: Path) -> list[str]:
    return ["--ro-bind", str(path), str(path)]


def _link(path: Path) -> list[str]:
    if path.is_symlink():
        return ["--symlink", str(path.readlink()), str(path)]
    return _read_only(path) if path.is_dir() else []


def _environment() -> dict[str, str]:
    """Return what the process in the container is given: nothing of this one's."""
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": "/tmp",  # noqa: S108 - the container's own
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(PROJECT),
        "DATABASE_URL": f"postgresql://pegboard_app:{secrets.token_hex(16)}@127.0.0.1:1/x",
        "PEGBOARD_SECRET_KEY": secrets.token_hex(32),
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "PEGBOARD_DATA_DIR": "/tmp/pegboard",  # noqa: S108 - the container's own
    }


def test_container_has_no_privileges(said: Said) -> None:
    account = said["account"]

    assert account["CapEff"] == account["CapBnd"] == "0" * 16
    assert (account["NoNewPrivs"], account["Seccomp"]) == ("1", "2")
    assert account["Uid"].split()[0] != "0"


def test_no_escape_works_from_a_cell_in_a_container(said: Said) -> None:
    required = said["open"]["required"]

    assert (required["report"]["problem"], required["cell"]) == ("", True)
    assert {words: what for words, what in required["escape"].items() if what} == {}
    assert set(required["escape"]) == set(ATTEMPTS)
    assert required["search"] == []
    assert json.loads(required["honest"]) == {"text": "hello"}
    assert said["open"]["preferred"]["cell"] is True


def test_nothing_starts_where_cells_are_required_and_impossible(said: Said) -> None:
    required = said["closed"]["required"]

    assert required["refused"] == Reason.NO_CELL
    assert required["detail"].startswith("The system refuses sandboxes: ")
    assert required["words"] == (
        f"No program can be started (PEGBOARD_CELL=required). {required['detail']}"
    )


def test_program_starts_without_a_cell_where_they_are_only_preferred(said: Said) -> None:
    preferred = said["closed"]["preferred"]

    assert preferred["cell"] is False
    assert json.loads(preferred["honest"]) == {"text": "hello"}
    assert preferred["words"].startswith(
        "Programs run without sandboxes. The system refuses sandboxes: "
    )


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("required", "Pegboard cannot start programs at the moment"),
        ("preferred", "It runs without a sandbox, with access to everything that the worker"),
    ],
)
def test_readiness_and_the_install_page_repeat_it(said: Said, mode: str, words: str) -> None:
    report = CellReport(**said["closed"][mode]["report"])
    attempt(lambda redis: redis.set(KEY, json.dumps(asdict(report)), ex=60), default=None)
    prepared = {"digest": "x", "descriptor": {"command": ["uvx", "hostile@1.0"]}}

    part = cells()
    page = render_to_string("installs/_consent.html", {"prepared": prepared, "cells": report})

    assert report.problem in part.problem + part.note
    assert bool(part.problem) is (mode == "required")
    assert words in page
    assert report.problem.partition(":")[0] in page
