"""The identity of an integration: its package or address, and the source that declared it.

A slug is a name, and two things may well want the same one. What has it keeps it.
"""

import json
import re
from typing import Protocol
from urllib.parse import urlsplit

from catalog.descriptors import IntegrationDescriptor, JSONObject
from catalog.mcp_client.packages import NotAPackageError, package_of

_DEFAULT_PORTS = {"http": 80, "https": 443}
# Options of `docker run`, https://docs.docker.com/reference/cli/docker/container/run/
_WITHOUT_VALUE = {
    "-i", "-t", "-it", "-ti", "-d", "--interactive", "--tty", "--detach", "--rm", "--init",
    "--privileged", "--read-only",
}  # fmt: skip
_WITH_VALUE = {
    "-e", "--env", "--env-file", "-v", "--volume", "--mount", "-p", "--publish", "--name",
    "--network", "--net", "-u", "--user", "-w", "--workdir", "--entrypoint", "-l", "--label",
    "-m", "--memory", "--cpus", "--platform", "--pull", "--add-host", "--device", "--tmpfs",
    "--cap-add", "--cap-drop", "--security-opt", "-h", "--hostname",
}  # fmt: skip


class Described(Protocol):
    """The fields that rows, descriptors and listings share."""

    @property
    def kind(self) -> str: ...
    @property
    def transport(self) -> str: ...
    @property
    def endpoint(self) -> str: ...
    @property
    def command(self) -> tuple[str, ...] | list[str]: ...


def target_of(one: Described) -> str:
    """Return the package or the address; empty for what is neither started nor reached."""
    if one.endpoint:
        return normalised_address(one.endpoint)
    if not one.command:
        return ""
    try:
        package = package_of(one.command)
    except NotAPackageError:
        package = None
    if package is not None:
        name = package.name.lower()
        # PEP 503: on PyPI, runs of these three are one hyphen.
        plain = re.sub(r"[-_.]+", "-", name) if package.index == "pypi" else name
        return f"{package.index}:{plain}"
    if image := image_of(one.command):
        return f"docker:{image}"
    return f"program:{json.dumps(list(one.command))}"


def normalised_address(address: str) -> str:
    """Return the address with its scheme and host in lower case and without a default port."""
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


def image_of(command: tuple[str, ...] | list[str]) -> str:
    """Return the image that `docker run` starts, without its tag; empty for other commands, and
    where an option is unknown: its value could pass for the image."""
    if len(command) < 3 or command[0].rpartition("/")[2] not in ("docker", "podman"):
        return ""
    if command[1] != "run":
        return ""
    rest = list(command[2:])
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in _WITH_VALUE and rest:
            rest.pop(0)
        elif option not in _WITHOUT_VALUE and not re.match(r"--[a-z-]+=", option):
            return ""
    if not rest:
        return ""
    head, slash, last = rest[0].partition("@")[0].rpartition("/")
    return f"{head}{slash}{last.partition(':')[0]}"


def reaches(one: object) -> JSONObject:
    """Return all that decides what is contacted or started, and with which secrets."""
    source_ref = getattr(one, "source_ref", None) or {}
    return {
        "transport": getattr(one, "transport", ""),
        "endpoint": getattr(one, "endpoint", ""),
        "command": list(getattr(one, "command", ())),
        "required_secrets": list(getattr(one, "required_secrets", ())),
        "headers": source_ref.get("headers") or {},
    }


def clash(row: Described, descriptor: IntegrationDescriptor, *, came_from: str) -> str:
    """Say why the descriptor is another thing than the row with its slug; empty where it is not."""
    if (row.kind, target_of(row)) == (descriptor.kind, target_of(descriptor)):
        return ""
    return clash_of_sources(row, descriptor, came_from=came_from)


def clash_of_installation(
    row: Described, descriptor: IntegrationDescriptor, *, came_from: str
) -> str:
    """Say why the descriptor cannot be installed in the row's place; empty where both are one
    thing. What is neither started nor reached is the same only from the same source."""
    owner, target = str(getattr(row, "came_from", "")), target_of(row)
    alike = (row.kind, target) == (descriptor.kind, target_of(descriptor))
    if alike and (target or owner == came_from):
        return ""
    return (
        f"The name {descriptor.slug} belongs to {told(row, owner)}. Uninstall that first, then "
        f"install {told(descriptor, came_from)}."
    )


def clash_of_sources(row: Described, descriptor: IntegrationDescriptor, *, came_from: str) -> str:
    """Name both things that want one slug."""
    owner = str(getattr(row, "came_from", ""))
    return (
        f"the slug {descriptor.slug} belongs to {told(row, owner)}; "
        f"{told(descriptor, came_from)} is left out, with its capabilities"
    )


def told(one: Described, source: str) -> str:
    """Name an integration so that it can be told from another of the same slug."""
    target = target_of(one)
    words = f"the {one.kind} {target}" if target else f"a {one.kind}"
    return f"{words} from {source}" if source else words
