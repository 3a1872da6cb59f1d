"""URL checks before any request. Pure, so the web process may use them."""

import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address

import httpx2
from django.conf import settings

from catalog.servers.net.address_ranges import AddressClass, classify_address
from catalog.servers.net.outgoing_errors import EndpointNotAllowedError

# Other ports belong to mail servers, databases and admin pages.
PUBLIC_PORTS = frozenset({443, 8443})
_MOST_CHARACTERS = 2_000
_LABEL = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
_NAME = re.compile(rf"(?=.{{1,253}}$){_LABEL}(?:\.{_LABEL})*\.?")
_LOCAL = ("localhost", "local", "internal", "localdomain", "home.arpa")


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """Hosts that Pegboard may reach at private addresses, without TLS and at any port.

    Each is a lower-case host and a port, or None for every port.
    """

    hosts: frozenset[tuple[str, int | None]] = frozenset()

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, int | None]]) -> "AllowedHosts":
        """Build from pairs of host and port."""
        return cls(frozenset((host.lower(), port) for host, port in pairs))

    @classmethod
    def from_settings(cls) -> "AllowedHosts":
        """Return the deployment's allowed hosts."""
        return cls.of(settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS)

    def allow(self, host: str, port: int) -> bool:
        """Return True if an admin has allowed the host at this port."""
        plain = host.lower().strip("[]").rstrip(".")
        return (plain, port) in self.hosts or (plain, None) in self.hosts


def check_address(url: str | httpx2.URL, allowed: AllowedHosts) -> httpx2.URL:
    """Return the parsed URL, or raise EndpointNotAllowedError."""
    if isinstance(url, str) and (
        len(url) > _MOST_CHARACTERS or re.search(r"[\s\x00-\x20\x7f\\]", url)
    ):
        raise EndpointNotAllowedError
    try:
        # Names are not resolved here: GuardedBackend checks the addresses when it connects.
        parsed = httpx2.URL(url)
        host = parsed.raw_host.decode("ascii").lower()
    except (httpx2.InvalidURL, UnicodeError, ValueError, TypeError):
        raise EndpointNotAllowedError from None
    if parsed.scheme not in ("https", "http") or parsed.userinfo or not host:
        raise EndpointNotAllowedError
    port = parsed.port or (443 if parsed.scheme == "https" else 80)
    if not allowed.allow(host, port):
        _check_public(parsed.scheme, host, port)
    # An admin's exception covers private addresses, never metadata services.
    elif _ip_literal(host) and classify_address(_ip_literal(host)) is AddressClass.NEVER:
        raise EndpointNotAllowedError
    return parsed


def _check_public(scheme: str, host: str, port: int) -> None:
    literal = _ip_literal(host)
    if scheme != "https" or port not in PUBLIC_PORTS:
        raise EndpointNotAllowedError
    if literal and classify_address(literal) is not AddressClass.PUBLIC:
        raise EndpointNotAllowedError
    if not literal and (not _NAME.fullmatch(host) or _is_local(host)):
        raise EndpointNotAllowedError


def _is_local(host: str) -> bool:
    name = host.rstrip(".")
    return any(name == suffix or name.endswith(f".{suffix}") for suffix in _LOCAL)


def _ip_literal(host: str) -> str:
    """Return the IP address written as the host, in any notation; "" for a name."""
    plain = host.strip("[]").rstrip(".")
    try:
        return str(ip_address(plain))
    except ValueError:
        pass
    try:
        # inet_aton accepts what connect() accepts: 127.1, 0x7f.1, 0177.0.0.1 and 2130706433.
        return socket.inet_ntoa(socket.inet_aton(plain))
    except OSError:
        return ""
