"""From which address a request comes.

Anyone can write X-Forwarded-For. It is believed only where PEGBOARD_TRUST_PROXY says that a proxy
stands in front, and of it only the last address, which is the one that this proxy has added itself.
"""

from ipaddress import IPv6Address, ip_address

from django.conf import settings
from django.http import HttpRequest


def client_address(request: HttpRequest) -> str:
    """The address in its usual spelling; empty where there is none, as over a socket."""
    if settings.PEGBOARD_TRUST_PROXY:
        last = request.META.get("HTTP_X_FORWARDED_FOR", "").rpartition(",")[2]
        if address := _plain(last):
            return address
    return _plain(request.META.get("REMOTE_ADDR", ""))


def network_of(address: str) -> str:
    """What one customer of a provider has to themselves: an IPv4 address, or an IPv6 /64."""
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
