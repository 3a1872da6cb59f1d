"""Public and private IP ranges.

Python 3.11's `ipaddress.is_global` treats multicast, 6to4, NAT64, site-local and IPv4-compatible
addresses as global, and ignores the metadata addresses of clouds.
"""

from enum import Enum
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

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
    address = _unwrap_ipv4(address)
    if any(address in network for network in _NEVER):
        return AddressClass.NEVER
    if any(address in network for network in _PRIVATE):
        return AddressClass.PRIVATE
    if address.version == 6 and address not in _PUBLIC_6:
        return AddressClass.NEVER
    return AddressClass.PUBLIC


def _unwrap_ipv4(address: Address) -> Address:
    """Return the IPv4 address that the system would really connect to."""
    if any(address in network for network in _EMBEDDING_6):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address
