"""Identity of integrations: the package or address, and the declaring source.

A slug is only a name that several things may want; the first keeps it.
"""

import json
import re
from typing import Protocol
from urllib.parse import urlsplit

from catalog.formats.descriptors import IntegrationDescriptor, JSONObject
from catalog.formats.launches import parse_docker_image
from catalog.formats.package_names import NotAPackageError, parse_package

_DEFAULT_PORTS = {"http": 80, "https": 443}


class DescribedIntegration(Protocol):
    """The fields shared by rows, descriptors and listings."""

    @property
    def kind(self) -> str: ...
    @property
    def transport(self) -> str: ...
    @property
    def endpoint(self) -> str: ...
    @property
    def command(self) -> tuple[str, ...] | list[str]: ...


def find_target(described: DescribedIntegration) -> str:
    """Return the package or address, or "" for integrations without either."""
    if described.endpoint:
        return normalised_address(described.endpoint)
    if not described.command:
        return ""
    try:
        package = parse_package(described.command)
    except NotAPackageError:
        package = None
    if package is not None:
        name = package.name.lower()
        # PEP 503: PyPI treats runs of these characters as one hyphen.
        plain = re.sub(r"[-_.]+", "-", name) if package.index == "pypi" else name
        return f"{package.index}:{plain}"
    if image := parse_docker_image(described.command):
        return f"docker:{image}"
    return f"program:{json.dumps(list(described.command))}"


def normalised_address(address: str) -> str:
    """Lower-case scheme and host, and drop the default port."""
    try:
        parts = urlsplit(address.strip())
        port = parts.port
    except ValueError:
        return address.strip()
    host = (parts.hostname or "").lower().rstrip(".")
    if port and port != _DEFAULT_PORTS.get(parts.scheme.lower()):
        host = f"{host}:{port}"
    path = parts.path.rstrip("/")
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme.lower()}://{host}{path}{query}"


def connection_facts(described: object) -> JSONObject:
    """Return everything that determines what is contacted or started, and with which secrets."""
    source_ref = getattr(described, "source_ref", None) or {}
    facts = {
        "transport": getattr(described, "transport", ""),
        "endpoint": getattr(described, "endpoint", ""),
        "command": list(getattr(described, "command", ())),
        "required_secrets": list(getattr(described, "required_secrets", ())),
        "headers": source_ref.get("headers") or {},
    }
    # How an API is signed in to. Absent for all others, whose digests stay what they were.
    security = source_ref.get("security")
    return {**facts, "security": security} if security else facts


def find_clash(
    row: DescribedIntegration, descriptor: IntegrationDescriptor, *, came_from: str
) -> str:
    """Return a reason if the descriptor is another thing than the row with its slug, else ""."""
    if (row.kind, find_target(row)) == (descriptor.kind, find_target(descriptor)):
        return ""
    return describe_clash(row, descriptor, came_from=came_from)


def find_installation_clash(
    row: DescribedIntegration, descriptor: IntegrationDescriptor, *, came_from: str
) -> str:
    """Return why the descriptor cannot replace the row, or "" if both are the same thing.

    Integrations without a target are the same only if they have the same source.
    """
    owner, target = str(getattr(row, "came_from", "")), find_target(row)
    alike = (row.kind, target) == (descriptor.kind, find_target(descriptor))
    if alike and (target or owner == came_from):
        return ""
    return (
        f"The name {descriptor.slug} belongs to {describe_integration(row, owner)}. "
        f"Uninstall that first, then install {describe_integration(descriptor, came_from)}."
    )


def describe_clash(
    row: DescribedIntegration, descriptor: IntegrationDescriptor, *, came_from: str
) -> str:
    """Describe both things that want the slug."""
    owner = str(getattr(row, "came_from", ""))
    return (
        f"the slug {descriptor.slug} belongs to {describe_integration(row, owner)}; "
        f"{describe_integration(descriptor, came_from)} is left out, with its capabilities"
    )


def describe_integration(described: DescribedIntegration, source: str) -> str:
    """Describe an integration so that it differs from another with the same slug."""
    target = find_target(described)
    words = f"the {described.kind} {target}" if target else f"a {described.kind}"
    return f"{words} from {source}" if source else words
