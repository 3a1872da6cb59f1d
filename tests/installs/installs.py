"""Installs of the misbehaving server."""

import sys
from typing import Any

from django.contrib.auth.models import User

from catalog.formats.descriptors import IntegrationDescriptor
from catalog.servers.client.launch_rules import command_digest
from marketplace.installs.requests import start_install
from marketplace.models import Installation
from tests.connections.evil_server import EVIL


def evil(mode: str = "", **more: Any) -> IntegrationDescriptor:
    command = (sys.executable, "-I", str(EVIL), mode)
    return IntegrationDescriptor("evil", "mcp", "Evil", transport="stdio", command=command, **more)


def begin(by: User, descriptor: IntegrationDescriptor, **more: Any) -> Installation:
    digest = command_digest(descriptor.command, descriptor.required_secrets)
    return start_install(by=by, descriptor=descriptor, confirmed=digest, **more)
