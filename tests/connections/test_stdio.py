"""Servers on standard streams: their commands, variables (CMD-1, CMD-5), and misbehaviour."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from pytest_django.fixtures import Settings

from catalog.servers.client.launch_rules import (
    CommandNotAllowedError,
    Launchers,
    check_command,
    check_environment,
    check_variables,
    command_digest,
)
from catalog.servers.client.mcp_session import Session
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.client.targets import ServerLimits, StdioServer
from catalog.servers.client.variable_rules import FAMILIES, refusal_reason
from tests.connections.commands import HOSTILE
from tests.connections.evil_server import QUICK, our_children, server, text_of


def with_session(
    mode: str, ask: Callable[[Session], Awaitable[Any]], limits: ServerLimits = QUICK, **more: Any
) -> Any:
    """Open a session, use it, close it, as a worker does."""

    async def run() -> Any:
        session = Session(server(mode), limits=limits, **more)
        try:
            await session.open()
            return await ask(session)
        finally:
            await session.close()

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("mode", "protocol"),
    [
        ("", "2025-11-25"),
        ("old", "2024-11-05"),
        ("modern", "2026-07-28"),
        ("dies_of_discover", "2025-11-25"),
    ],
)
def test_speaks_every_generation(mode: str, protocol: str) -> None:
    async def ask(session: Session) -> None:
        tools = await session.tools()
        first = await session.call("echo", {"text": "hello"})
        second = await session.call("echo", {"text": "again"})

        assert session.protocol == protocol
        assert [tool["name"] for tool in tools.tools] == ["echo"]
        assert tools.tools[0]["annotations"] == {"readOnlyHint": True}
        assert [text_of(first), text_of(second)] == ["1: hello", "2: again"]  # one process

    with_session(mode, ask)


def test_hears_that_tools_changed() -> None:
    heard: list[bool] = []

    async def ask(session: Session) -> None:
        await session.call("change", {})
        for _ in range(200):
            if heard:
                break
            await asyncio.sleep(0.01)

    with_session("", ask, on_tools_changed=lambda: heard.append(True))

    assert heard == [True]


@pytest.mark.parametrize(
    ("mode", "limits", "reason"),
    [
        ("hang_at_connect", replace(QUICK, connect_seconds=0.5), Reason.NO_ANSWER),
        ("hang_at_call", replace(QUICK, call_seconds=0.3), Reason.NO_ANSWER),
        ("crash", QUICK, Reason.CRASHED),
        ("crash_at_start", QUICK, Reason.CRASHED),
        ("drip", replace(QUICK, call_seconds=0.3), Reason.NO_ANSWER),
        ("garbage", QUICK, Reason.WRONG_ANSWER),
        ("twice", QUICK, Reason.WRONG_ANSWER),
        ("flood", QUICK, Reason.FLOODING),
        ("huge", QUICK, Reason.TOO_LARGE),
        ("grows", replace(QUICK, memory_bytes=100 * 1024 * 1024), Reason.TOO_MUCH_MEMORY),
        ("forks", replace(QUICK, processes=20), Reason.TOO_MANY_PROCESSES),
        ("bomb", replace(QUICK, processes=20), Reason.TOO_MANY_PROCESSES),
        ("writes", replace(QUICK, file_bytes=1024 * 1024), Reason.CRASHED),
        ("spins", replace(QUICK, cpu_seconds=1), Reason.CRASHED),
    ],
)
def test_evil_server_is_told_apart_and_leaves_nothing(
    mode: str, limits: ServerLimits, reason: Reason
) -> None:
    with pytest.raises(ServerProblemError) as problem:
        with_session(mode, lambda session: session.call("echo", {}), limits)

    assert problem.value.reason is reason
    # A sent call may have happened; an unreachable server did nothing.
    assert problem.value.sent is (
        mode
        not in ("hang_at_connect", "crash_at_start", "grows", "forks", "bomb", "writes", "spins")
    )
    assert our_children() == []


def test_last_words_are_kept_without_secrets() -> None:
    with pytest.raises(ServerProblemError) as problem:
        with_session("crash_at_start", lambda session: session.tools())

    assert "ImportError" in problem.value.detail
    assert "exit code 1" in problem.value.detail
    assert "canary" not in problem.value.detail


def test_flapping_server_answers_each_time_before_it_ends() -> None:
    async def ask(session: Session) -> ServerProblemError:
        assert text_of(await session.call("echo", {"text": "x"})) == "1: x"
        while session.is_open:
            await asyncio.sleep(0.01)
        with pytest.raises(ServerProblemError) as problem:
            await session.call("echo", {})
        return problem.value

    assert with_session("flap", ask).reason is Reason.CRASHED


def test_call_that_hangs_costs_only_itself() -> None:
    async def ask(session: Session) -> None:
        with pytest.raises(ServerProblemError):
            await session.call("echo", {}, seconds=0.2)
        assert [tool["name"] for tool in (await session.tools()).tools] == ["echo"]

    with_session("hang_at_call", ask)


def test_lists_have_limits() -> None:
    many = with_session("too_many_tools", lambda session: session.tools())
    endless = with_session("endless_list", lambda session: session.tools())
    deep = with_session("deep", lambda session: session.tools(), replace(QUICK, garbage_lines=0))

    assert (len(many.tools), bool(many.left_out)) == (1_000, True)
    assert (len(endless.tools), bool(endless.left_out)) == (QUICK.pages, True)
    assert (deep.tools, [defect.tool for defect in deep.defects]) == ([], ["tools[0]"])


def test_server_gets_nothing_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_OF_WORKER", "1")

    async def run() -> dict[str, Any]:
        session = Session(server("", TOKEN="its own"), limits=QUICK)
        await session.open()
        told = json.loads(text_of(await session.call("surroundings", {})))
        await session.close()
        return dict(told)

    told = asyncio.run(run())

    assert told["environment"].keys() - {"LC_CTYPE"} == {
        "LANG",
        "LC_ALL",
        "PATH",
        "HOME",
        "TMPDIR",
        "TOKEN",
    }
    assert told["folder"] == told["environment"]["HOME"]
    assert len(told["descriptors"]) == 4  # the streams, and the directory of descriptors itself
    assert not Path(told["folder"]).exists()


def test_nothing_survives_the_end_of_a_session() -> None:
    async def ask(session: Session) -> list[int]:
        return list(json.loads(text_of(await session.call("escape", {}))))

    server_pid, runaway, orphan = with_session("", ask)

    assert [pid for pid in (server_pid, runaway, orphan) if psutil.pid_exists(pid)] == []


def test_nothing_survives_a_worker_that_is_killed() -> None:
    """The keeper is signalled when its parent dies, and the server when its keeper ends."""
    script = (
        "import asyncio, os, sys; sys.path.insert(0, os.getcwd())\n"
        "from django.conf import settings\n"
        "settings.configure(PEGBOARD_VERSION='1', PEGBOARD_PROGRESS_SECONDS=1)\n"
        "from catalog.servers.client.targets import StdioServer\n"
        "from catalog.servers.client.mcp_session import Session\n"
        "async def run():\n"
        f"    session = Session(StdioServer({server().command!r}))\n"
        "    await session.open()\n"
        "    result = await session.call('escape', {})\n"
        "    print(result.content[0]['text'], flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(run())\n"
    )

    async def run() -> list[int]:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE, env=dict(os.environ)
        )
        told, _ = await process.communicate()
        return list(json.loads(told))

    pids = asyncio.run(run())

    _, still_there = psutil.wait_procs(
        [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)], timeout=60
    )
    assert len(pids) == 3
    assert still_there == []


def test_command_that_is_not_there_is_told() -> None:
    async def run() -> None:
        await Session(StdioServer(("/nowhere/server",)), limits=QUICK).open()

    with pytest.raises(ServerProblemError) as problem:
        asyncio.run(run())

    assert problem.value.reason is Reason.CANNOT_START


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


# Names required by published servers (Docker's catalogue, the MCP registry, ToolHive, client
# configurations), and ordinary names with the same prefixes as refused ones.
ORDINARY = (Path(__file__).parent / "ordinary_variables.txt").read_text().split()
_STEERING = """
LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT LD_DEBUG_OUTPUT LD_ORIGIN_PATH DYLD_INSERT_LIBRARIES LIBPATH
GLIBC_TUNABLES GCONV_PATH LOCPATH NLSPATH GETCONF_DIR MALLOC_TRACE TZDIR OPENSSL_CONF
OPENSSL_MODULES OPENSSL_ENGINES OPENSSL_CONF_INCLUDE SASL_PATH KRB5_CONFIG LDAPTLS_CACERT LDAPCONF
ODBCSYSINI GTK_MODULES GIO_EXTRA_MODULES QT_PLUGIN_PATH VK_LAYER_PATH P11_KIT_DEBUG SSL_CERT_FILE
SSL_CERT_DIR SSLKEYLOGFILE REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS
NODE_TLS_REJECT_UNAUTHORIZED AWS_CA_BUNDLE GRPC_DEFAULT_SSL_ROOTS_FILE_PATH PYTHONHTTPSVERIFY
HTTP_PROXY HTTPS_PROXY ALL_PROXY FTP_PROXY NO_PROXY http_proxy https_proxy all_proxy Https_Proxy
GRPC_PROXY WS_PROXY HOSTALIASES RES_OPTIONS LOCALDOMAIN RESOLV_HOST_CONF PATH HOME TMPDIR TMP TEMP
SHELL ENV BASH_ENV BASH_FUNC_x BASHOPTS SHELLOPTS PS4 PROMPT_COMMAND IFS CDPATH ZDOTDIR
XDG_CONFIG_HOME XDG_DATA_DIRS XDG_RUNTIME_DIR EDITOR VISUAL PAGER BROWSER LESSOPEN LESSCLOSE
MANPAGER SSH_ASKPASS SUDO_ASKPASS CURL_HOME WGETRC GNUPGHOME INPUTRC TERMINFO VIMINIT PYTHONPATH
PYTHONHOME PYTHONSTARTUP PYTHONINSPECT PYTHONBREAKPOINT PYTHONUSERBASE PYTHONWARNINGS
PYTHONPLATLIBDIR PYTHONEXECUTABLE PYTHONSAFEPATH PYTHONPYCACHEPREFIX PYTHON_PRESITE PYTHON_HISTORY
PIP_INDEX_URL PIP_CONFIG_FILE pip_index_url UV_INDEX_URL UV_PYTHON PIPX_HOME VIRTUAL_ENV
CONDA_PREFIX POETRY_HOME PYTEST_PLUGINS COVERAGE_PROCESS_START DJANGO_SETTINGS_MODULE FLASK_APP
NODE_OPTIONS NODE_PATH NODE_REPL_EXTERNAL_MODULE NODE_V8_COVERAGE NODE_CONFIG_DIR
npm_config_registry NPM_CONFIG_USERCONFIG npm_config_script_shell YARN_RC_FILENAME yarn_plugins
PNPM_HOME COREPACK_NPM_REGISTRY TS_NODE_COMPILER ELECTRON_RUN_AS_NODE BUN_INSTALL DENO_DIR
DENO_V8_FLAGS JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS JAVA_HOME CLASSPATH MAVEN_OPTS
GRADLE_OPTS DOTNET_STARTUP_HOOKS DOTNET_ROOT CORECLR_PROFILER CORECLR_ENABLE_PROFILING COR_PROFILER
COMPlus_x ASPNETCORE_HOSTINGSTARTUPASSEMBLIES MONO_PATH PSModulePath NUGET_PLUGIN_PATHS RUBYOPT
RUBYLIB GEM_PATH GEM_HOME BUNDLE_GEMFILE IRBRC PERL5OPT PERL5LIB PERL5DB PERLLIB PHPRC
PHP_INI_SCAN_DIR COMPOSER_HOME LUA_INIT LUA_INIT_5_4 LUA_PATH LUA_CPATH_5_3 R_PROFILE
R_PROFILE_USER R_ENVIRON R_LIBS JULIA_LOAD_PATH TCLLIBPATH ERL_FLAGS ELIXIR_ERL_OPTIONS GHCRTS
OCAMLPATH GUILE_LOAD_PATH GOFLAGS GOPROXY GOTOOLCHAIN CGO_CFLAGS RUSTC_WRAPPER RUSTFLAGS CARGO_HOME
MAKEFLAGS GIT_SSH GIT_SSH_COMMAND GIT_EXEC_PATH GIT_CONFIG GIT_CONFIG_COUNT GIT_CONFIG_KEY_0
GIT_CONFIG_VALUE_0 GIT_CONFIG_GLOBAL GIT_CONFIG_PARAMETERS GIT_ASKPASS GIT_EDITOR GIT_PAGER
GIT_EXTERNAL_DIFF GIT_DIR GIT_TEMPLATE_DIR GIT_PROXY_COMMAND GIT_SSL_NO_VERIFY GIT_SSL_CAINFO
GIT_TRACE GIT_ALLOW_PROTOCOL DOCKER_HOST DOCKER_CONFIG DOCKER_CONTEXT CONTAINER_HOST
CONTAINERS_CONF PEGBOARD_SECRET_KEY
"""


def test_variables_that_steer_the_process_are_refused_in_any_case() -> None:
    names = _STEERING.split()
    for written in (*names, *map(str.lower, names), *map(str.upper, names)):
        with pytest.raises(CommandNotAllowedError, match="Pegboard does not set"):
            check_environment({written: "x"})


@pytest.mark.parametrize("name", ["", "A=B", "A B", "1A", "A\n", "A\x00", "É", "A-B", "A" * 129])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(CommandNotAllowedError, match="not a valid name"):
        check_variables([name])


def test_every_ordinary_name_passes() -> None:
    assert len(ORDINARY) > 500

    assert [name for name in ORDINARY if refusal_reason(name)] == []


def test_no_family_is_empty_or_excuses_what_it_does_not_have() -> None:
    for family in FAMILIES:
        assert family.words.split()
        for name in family.free.split():
            assert not family.has(name)
            assert any(name.startswith(word.rstrip("*+")) for word in family.words.split())


ANSWERING = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or message["method"] not in ANSWERS:
        if "id" in message:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"],
                              "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"], "result": ANSWERS[message["method"]]}
    print(FORM(answer, message), flush=True)
"""
ANSWERS = {
    "initialize": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": None},
    "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "done"}]},
}
# How programs write their answers, as expressions of Python.
FORMS = {
    "id as a text": "json.dumps({**answer, 'id': str(answer['id'])})",
    "id as a fraction": "json.dumps({**answer, 'id': float(answer['id'])})",
    "no version": "json.dumps({key: answer[key] for key in ('id', 'result')})",
    "list of one": "json.dumps([answer])",
    "logs around": '\'starting\\n{"level": "error", "error": "no"}\\n\' + json.dumps(answer)',
    "several lines": "json.dumps(answer, indent=2)",
    "log of a hundred lines": "'a line of a log\\n' * 100 + json.dumps(answer)",
    "mark before": "'\\ufeff' + json.dumps(answer)",
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_answer_of_a_program_is_read_in_every_form_of_it(form: str) -> None:
    script = f"ANSWERS = {ANSWERS!r}\nFORM = lambda answer, message: {form}\n{ANSWERING}"
    program = StdioServer((sys.executable, "-I", "-c", script), {"PYTHONIOENCODING": "utf-8"})

    async def run() -> Any:
        session = Session(program, limits=QUICK)
        try:
            await session.open()
            return await session.tools(), await session.call("echo", {})
        finally:
            await session.close()

    listed, answer = asyncio.run(run())

    assert [tool["name"] for tool in listed.tools] == ["echo"]
    assert answer.content == [{"type": "text", "text": "done"}]


@pytest.mark.parametrize("number", ["answer['id']", "str(answer['id'])", "None"])
def test_refusal_of_a_program_is_told_whatever_its_form(number: str) -> None:
    refusal = f"{{'jsonrpc': '2.0', 'id': {number}, 'error': 'boom'}}"
    form = f"json.dumps(answer if message['method'] != 'tools/call' else {refusal})"
    script = f"ANSWERS = {ANSWERS!r}\nFORM = lambda answer, message: {form}\n{ANSWERING}"

    async def run() -> None:
        session = Session(StdioServer((sys.executable, "-I", "-c", script), {}), limits=QUICK)
        try:
            await session.open()
            await session.call("echo", {})
        finally:
            await session.close()

    with pytest.raises(ServerProblemError) as problem:
        asyncio.run(run())

    assert (problem.value.reason, problem.value.detail) == (Reason.REFUSED, "boom")
