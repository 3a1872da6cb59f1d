"""Hosts of the package indexes that a client may fetch from, read from its configuration."""

import ipaddress
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings

from catalog.servers.cell.allowed_hosts import written

# PyPI's index and its files; npm's registry has both.
_PUBLIC_INDEXES = ("pypi.org", "files.pythonhosted.org", "registry.npmjs.org")
_ADDRESS = re.compile(r"https?://[^\s,;\"'<>]+", re.IGNORECASE)
# An operator's own proxy decides what is reached, and may be the only way out.
# The lookbehind lets each word be read once only.
_PROXY = re.compile(r"(?<![\w.-])([\w.-]*?)proxy\s*+=\s*+\S", re.IGNORECASE)
_MOST_BYTES = 100_000
Hosts = frozenset[tuple[str, int]]


def find_index_hosts(configuration: Iterable[str]) -> Hosts | None:
    """Return hosts and ports; None if names do not tell what the client has to reach.

    `configuration` are variables as NAME=value, and texts of configuration files.
    """
    texts = list(configuration)
    if "*" in settings.PEGBOARD_PACKAGE_HOSTS or any(map(_names_proxy, texts)):
        return None
    found = {_split(name) for name in (*_PUBLIC_INDEXES, *settings.PEGBOARD_PACKAGE_HOSTS)}
    for address in (match for text in texts for match in _ADDRESS.findall(text)):
        parts = urlsplit(address)
        host = (parts.hostname or "").rstrip(".")
        if _is_local(host):
            return None
        found.add((host, parts.port or (443 if parts.scheme.lower() == "https" else 80)))
    return frozenset(found)


def rules_of(hosts: Hosts) -> tuple[str, ...]:
    """Return the hosts as a cell's rules."""
    return tuple(sorted(written(host, port) for host, port in hosts))


def read_configuration(file: Path) -> str:
    """Return the text of a configuration file without comments; "" if it cannot be one."""
    if not file.is_file() or file.stat().st_size > _MOST_BYTES:
        return ""
    lines = file.read_text(errors="replace").splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith(("#", ";")))


def _names_proxy(text: str) -> bool:
    prefixes = (prefix.lower() for prefix in _PROXY.findall(text))
    return any(not prefix.rstrip("_-").endswith("no") for prefix in prefixes)


def _split(text: str) -> tuple[str, int]:
    host, _, port = text.partition(":")
    return host.lower(), int(port or 443)


def _is_local(host: str) -> bool:
    """Return True for this machine and for addresses, which the proxy refuses."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host in ("", "localhost")
    return True
