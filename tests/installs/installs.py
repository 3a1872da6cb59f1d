"""Installs of the misbehaving server."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import Any

from django.contrib.auth.models import User

from catalog.embedding.jobs import embed_pending
from catalog.formats.descriptors import IntegrationDescriptor
from catalog.servers.client.launch_rules import command_digest
from marketplace.additions.requests import add
from marketplace.additions.worker import look_at
from marketplace.installs.requests import start_install
from marketplace.installs.worker import install
from marketplace.models import Addition, Installation
from tests.connections.evil_server import EVIL
from tests.local_servers import Handler, serve


def evil(mode: str = "", **more: Any) -> IntegrationDescriptor:
    command = (sys.executable, "-I", str(EVIL), mode)
    return IntegrationDescriptor("evil", "mcp", "Evil", transport="stdio", command=command, **more)


def begin(by: User, descriptor: IntegrationDescriptor, **more: Any) -> Installation:
    digest = command_digest(descriptor.command, descriptor.required_secrets)
    return start_install(by=by, descriptor=descriptor, confirmed=digest, **more)


@contextmanager
def served(bodies: dict[str, bytes]) -> Iterator[ThreadingHTTPServer]:
    """Serve these files, as they are when they are asked for."""

    class Files(Handler):
        def do_GET(self) -> None:
            body = bodies.get(self.path)
            self.reply(200 if body is not None else 404, body or b"")

    with serve(Files) as server:
        yield server


def looked_at(by: User, address: str) -> Addition:
    [row] = add(by=by, text=address)
    look_at(row.pk)
    row.refresh_from_db()
    return row


def worked(installation: Installation) -> Installation:
    """Run all pending work, and return the installation as it is then."""
    install(installation.pk)
    embed_pending()
    install(installation.pk)
    installation.refresh_from_db()
    return installation
