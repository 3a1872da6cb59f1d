"""Client addresses of requests."""

from ipaddress import IPv6Address, ip_address

from django.conf import settings
from django.http import HttpRequest


def client_address(request: HttpRequest) -> str:
    """Return the address in canonical form; "" if there is none, as over a socket."""
    if settings.PEGBOARD_TRUST_PROXY:
        last = request.META.get("HTTP_X_FORWARDED_FOR", "").rpartition(",")[2]
        if address := _plain(last):
            return address
    return _plain(request.META.get("REMOTE_ADDR", ""))


def network_of(address: str) -> str:
    """Return the IPv4 address or IPv6 /64 that one customer of a provider has."""
    if ":" not in address:
        return address
    return str(IPv6Address(int(IPv6Address(address)) >> 64 << 64)) + "/64"


def _plain(text: str) -> str:
    """The address alone: some proxies add the port, and IPv6 is written in many ways."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return ""
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(address)
