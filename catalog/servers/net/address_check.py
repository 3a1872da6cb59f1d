"""URL checks before any request. Pure, so the web process may use them."""

import re
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import httpx2
from django.conf import settings
from django.utils.translation import gettext, gettext_noop

# Errors of outgoing requests. No message reveals an address, a port or a response.


class OutgoingError(Exception):
    """A request failed; `code` is for machines."""

    code = "outgoing_failed"
    words = gettext_noop("The request could not be sent.")

    def __init__(self) -> None:
        super().__init__(gettext(self.words))


class EndpointNotAllowedError(OutgoingError):
    """Pegboard must not reach this address."""

    code = "endpoint_not_allowed"
    words = gettext_noop(
        "This address is not allowed. Use a public https address, or let an admin allow its host."
    )


# A single error for refusals, timeouts, unknown hosts and bad certificates, so that nobody can scan
# a network with it.
class NotReachableError(OutgoingError):
    """The address could not be reached."""

    code = "endpoint_not_reachable"
    words = gettext_noop("The address could not be reached or did not respond in time.")


class TooManyRedirectsError(OutgoingError):
    """The address redirects too often."""

    code = "too_many_redirects"
    words = gettext_noop("The address redirects too many times.")


class AnswerTooLargeError(OutgoingError, httpx2.StreamError):
    """The response is too large. As a StreamError, it fails one call of the MCP SDK."""

    code = "answer_too_large"
    words = gettext_noop("The response is too large.")


class CompressedAnswerError(OutgoingError):
    """An unreadable compression, which `encoding` names."""

    code = "answer_compressed"
    words = gettext_noop("The response is compressed in a way that Pegboard does not read.")

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self.encoding = encoding


# Other ports belong to mail servers, databases and admin pages.
PUBLIC_PORTS = frozenset({443, 8443})
_MOST_CHARACTERS = 2_000
_LABEL = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
_NAME = re.compile(rf"(?=.{{1,253}}$){_LABEL}(?:\.{_LABEL})*\.?")
_LOCAL = ("localhost", "local", "internal", "localdomain", "home.arpa")
Address = IPv4Address | IPv6Address


class AddressClass(Enum):
    """Public, private (if an admin allows it), or never to be connected to."""

    PUBLIC = "public"
    PRIVATE = "private"
    NEVER = "never"


_NEVER_4 = (
    "0.0.0.0/8",  # this host
    "169.254.0.0/16",  # link-local, with most clouds' metadata services
    "100.100.100.200/32",  # Alibaba Cloud's metadata service
    "168.63.129.16/32",  # Azure's platform service, within public space
    "192.0.0.0/24",  # protocol assignments, with Oracle Cloud's metadata service
    "192.0.2.0/24",  # documentation, as the next two
    "198.51.100.0/24",
    "203.0.113.0/24",
    "192.31.196.0/24",  # AS112
    "192.52.193.0/24",  # automatic multicast tunnels
    "192.88.99.0/24",  # 6to4 relays
    "192.175.48.0/24",  # AS112
    "198.18.0.0/15",  # benchmarks
    "224.0.0.0/4",  # multicast
    "240.0.0.0/4",  # reserved, and broadcast
)
_PRIVATE_4 = ("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
_NEVER_6 = (
    "fd00:ec2::/32",  # metadata services of clouds, within private space
    "fd20:ce::/32",
    "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarks
    "2001:db8::/32",  # documentation, as the next one
    "3fff::/20",
    "2002::/16",  # 6to4: wraps any IPv4 address
    "2620:4f:8000::/48",  # AS112
)
_PRIVATE_6 = ("::1/128", "fc00::/7")
_PUBLIC_6 = ip_network("2000::/3")  # all allocated global unicast space
_EMBEDDING_6 = tuple(ip_network(text) for text in ("::ffff:0:0/96", "64:ff9b::/96"))

_NEVER = tuple(ip_network(text) for text in _NEVER_4 + _NEVER_6)
_PRIVATE = tuple(ip_network(text) for text in _PRIVATE_4 + _PRIVATE_6)


def classify_address(text: str) -> AddressClass:
    """Classify an address; invalid text is NEVER."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return AddressClass.NEVER
    # The IPv4 address that the system would really connect to.
    address = (
        IPv4Address(int(address) & 0xFFFFFFFF)
        if any(address in network for network in _EMBEDDING_6)
        else address
    )
    if any(address in network for network in _NEVER):
        return AddressClass.NEVER
    if any(address in network for network in _PRIVATE):
        return AddressClass.PRIVATE
    if address.version == 6 and address not in _PUBLIC_6:
        return AddressClass.NEVER
    return AddressClass.PUBLIC


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """Hosts that Pegboard may reach at private addresses, without TLS and at any port.

    Each is a lower-case host and a port, or None for every port. `has_stored` adds those that
    admins allowed from a page, which are asked for where nothing else allows a host.
    """

    hosts: frozenset[tuple[str, int | None]] = frozenset()
    has_stored: bool = False

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, int | None]]) -> "AllowedHosts":
        """Build from pairs of host and port."""
        return cls(frozenset((host.lower(), port) for host, port in pairs))

    @classmethod
    def from_settings(cls) -> "AllowedHosts":
        """Return the deployment's allowed hosts."""
        operators = cls.of(settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS)
        return cls(operators.hosts, has_stored=True)

    def allow(self, host: str, port: int) -> bool:
        """Return True if an admin has allowed the host at this port."""
        plain = _plain(host)
        if (plain, port) in self.hosts or (plain, None) in self.hosts:
            return True
        return self.has_stored and any(is_stored(plain, port) for is_stored in _STORED)


# Set by the module with the admins' list: this one reads no table.
_STORED: list[Callable[[str, int], bool]] = []


def use_stored_hosts(is_stored: Callable[[str, int], bool]) -> None:
    """Name the function that says whether an admin has allowed a host and port."""
    _STORED[:] = [is_stored]


def host_and_port(url: str) -> tuple[str, int]:
    """Return the host and the port of an address, or raise EndpointNotAllowedError."""
    try:
        parsed = httpx2.URL(url)
        host = parsed.raw_host.decode("ascii")
    except (httpx2.InvalidURL, UnicodeError, ValueError, TypeError):
        raise EndpointNotAllowedError from None
    return _plain(host), parsed.port or (443 if parsed.scheme == "https" else 80)


def _plain(host: str) -> str:
    return host.lower().strip("[]").rstrip(".")


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
    if _is_public(parsed.scheme, host, port):
        return parsed
    # An admin's exception covers private addresses, never metadata services.
    if _ip_literal(host) and classify_address(_ip_literal(host)) is AddressClass.NEVER:
        raise EndpointNotAllowedError
    if not allowed.allow(host, port):
        raise EndpointNotAllowedError
    return parsed


def _is_public(scheme: str, host: str, port: int) -> bool:
    if scheme != "https" or port not in PUBLIC_PORTS:
        return False
    if literal := _ip_literal(host):
        return classify_address(literal) is AddressClass.PUBLIC
    return _NAME.fullmatch(host) is not None and not _is_local(host)


def is_ip_literal(host: str) -> bool:
    """Return True if the host is an IP address in any notation."""
    return bool(_ip_literal(host))


def is_public_name(host: str) -> bool:
    """Return True if the host is a name, and not one of this machine or its network."""
    return not _ip_literal(host) and bool(_NAME.fullmatch(host)) and not _is_local(host)


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
