"""What can be said of an address before anything is asked: pure, so the web process may use it."""

import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address

import httpx2
from django.conf import settings

from catalog.servers.net.address_ranges import Reach, reach_of
from catalog.servers.net.outgoing_errors import EndpointNotAllowedError

# Others are where mail servers, databases and admin pages of other people listen.
PUBLIC_PORTS = frozenset({443, 8443})
_MOST_CHARACTERS = 2_000
_LABEL = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
_NAME = re.compile(rf"(?=.{{1,253}}$){_LABEL}(?:\.{_LABEL})*\.?")
_LOCAL = ("localhost", "local", "internal", "localdomain", "home.arpa")


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """Hosts that an admin lets Pegboard reach at private addresses, without TLS and at any port.

    Each is a host in small letters and a port, or None for every port.
    """

    hosts: frozenset[tuple[str, int | None]] = frozenset()

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, int | None]]) -> "AllowedHosts":
        """From pairs of host and port."""
        return cls(frozenset((host.lower(), port) for host, port in pairs))

    @classmethod
    def from_settings(cls) -> "AllowedHosts":
        """Those of this deployment."""
        return cls.of(settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS)

    def allow(self, host: str, port: int) -> bool:
        """Whether an admin has named this host, for this port."""
        plain = host.lower().strip("[]").rstrip(".")
        return (plain, port) in self.hosts or (plain, None) in self.hosts


def check_address(url: str | httpx2.URL, allowed: AllowedHosts) -> httpx2.URL:
    """The address as it would be asked; EndpointNotAllowedError where it may not be.

    A name is not looked up here: what it means is judged when it is connected to.
    """
    if isinstance(url, str) and (
        len(url) > _MOST_CHARACTERS or re.search(r"[\s\x00-\x20\x7f\\]", url)
    ):
        raise EndpointNotAllowedError
    try:
        parsed = httpx2.URL(url)
        host = parsed.raw_host.decode("ascii").lower()
    except (httpx2.InvalidURL, UnicodeError, ValueError, TypeError):
        raise EndpointNotAllowedError from None
    if parsed.scheme not in ("https", "http") or parsed.userinfo or not host:
        raise EndpointNotAllowedError
    port = parsed.port or (443 if parsed.scheme == "https" else 80)
    if not allowed.allow(host, port):
        _check_public(parsed.scheme, host, port)
    elif _literal(host) and reach_of(_literal(host)) is Reach.NEVER:
        raise EndpointNotAllowedError
    return parsed


def _check_public(scheme: str, host: str, port: int) -> None:
    literal = _literal(host)
    if scheme != "https" or port not in PUBLIC_PORTS:
        raise EndpointNotAllowedError
    if literal and reach_of(literal) is not Reach.PUBLIC:
        raise EndpointNotAllowedError
    if not literal and (not _NAME.fullmatch(host) or _is_local(host)):
        raise EndpointNotAllowedError


def _is_local(host: str) -> bool:
    name = host.rstrip(".")
    return any(name == suffix or name.endswith(f".{suffix}") for suffix in _LOCAL)


def _literal(host: str) -> str:
    """The address that the host is already, in whatever way it is written; empty for a name."""
    plain = host.strip("[]").rstrip(".")
    try:
        return str(ip_address(plain))
    except ValueError:
        pass
    try:
        # The system's own idea of 127.1, 0x7f.1, 0177.0.0.1 and 2130706433.
        return socket.inet_ntoa(socket.inet_aton(plain))
    except OSError:
        return ""
