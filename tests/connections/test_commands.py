"""CMD-1 and CMD-5: commands that may start a server, and those that never do."""

from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from catalog.servers.client.launch_rules import (
    CommandNotAllowedError,
    Launchers,
    check_command,
    check_environment,
    command_digest,
)
from tests.connections.commands import HOSTILE

LAUNCHERS = Launchers(
    {
        "uvx": "/opt/uvx",
        "npx": "/opt/npx",
        "docker": "/usr/bin/docker",
        "python3": "/usr/bin/python3",
        "node": "/usr/bin/node",
        "sh": "/bin/sh",
    },
    Path("/data/servers"),
)
FINE = (
    "uvx mcp-server-time==2026.1.2 --local-timezone Europe/Paris", "uvx mcp-server-time@2026.1.2",
    "uvx --from mcp-server-git[all]==1.0 mcp-server-git -c server.toml", "npx -y mcp@1.0.0 --eval",
    "uvx --python 3.12 a==1", "npx -y @modelcontextprotocol/server-everything@2026.1.26 stdio",
    "npx --package=@a/b@1.0.0-rc.1 b", "docker run -i --rm -e TOKEN mcp/time:1.0 --x",
    f"docker run mcp/time@sha256:{'a' * 64}", "python3 -u -m my_server", "python3 server.py -c x",
    "node dist/index.js --eval", "/data/servers/7/bin/mcp-server-time", "/opt/uvx a==1",
)  # fmt: skip


@pytest.mark.parametrize(
    "command", [*HOSTILE, "uvx a==1\x00b", "uvx a==1\nrm", "uvx a==1 " + "x " * 300]
)
def test_hostile_command_is_refused(command: str) -> None:
    with pytest.raises(CommandNotAllowedError):
        check_command(command.split(" ") if command else [], LAUNCHERS)


@pytest.mark.parametrize("command", FINE)
def test_fine_command_is_kept_with_its_whole_path(command: str) -> None:
    program, *arguments = command.split(" ")

    checked = check_command([program, *arguments], LAUNCHERS)

    assert checked == (LAUNCHERS.programs.get(program, program), *arguments)


def test_no_launcher_unless_an_operator_names_it(settings: Settings, tmp_path: Path) -> None:
    settings.PEGBOARD_LAUNCHERS, settings.PEGBOARD_DATA_DIR = (), tmp_path
    nothing = Launchers.from_settings()
    settings.PEGBOARD_LAUNCHERS = ("python3", "/usr/bin/never-there", "never-there")
    some = Launchers.from_settings()

    for command in (["uvx", "a==1"], ["python3", "x.py"]):
        with pytest.raises(CommandNotAllowedError):
            check_command(command, nothing)
    assert set(some.programs) == {"python3", "never-there"}
    assert Path(some.programs["python3"]).is_absolute()


def test_approval_is_bound_to_every_part() -> None:
    first = command_digest(["uvx", "a==1", "b c"], ["TOKEN"])

    others = {
        command_digest(["uvx", "a==1", "b", "c"], ["TOKEN"]),
        command_digest(["uvx", "a==2", "b c"], ["TOKEN"]),
        command_digest(["uvx", "a==1", "b c"], []),
    }

    assert len(others) == 3
    assert first not in others
    assert check_environment({"TOKEN": "x", "API_KEY": ""}) == {"TOKEN": "x", "API_KEY": ""}
