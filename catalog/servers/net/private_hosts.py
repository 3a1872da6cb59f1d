"""Hosts of one's own network that admins allow from a page, beside those of the operator.

They hold from the next request on, in every process. Each opens private addresses at one port,
also without TLS; metadata services and other addresses that are never connected to stay closed.
"""

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor

import structlog
from django.contrib.auth.models import User
from django.db import Error, connection, transaction
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from catalog.models import PrivateHost
from catalog.servers.net.address_check import (
    AllowedHosts,
    EndpointNotAllowedError,
    check_address,
    host_and_port,
)

MOST_CHARACTERS = 260
MOST_HOSTS = 200
_SECONDS = 5
_PORT = re.compile(r"(?P<host>\[[^\]]+\]|[a-z0-9_.-]+):(?P<port>[1-9][0-9]{0,4})")
# Django refuses queries in the thread of an event loop.
_reader = ThreadPoolExecutor(1, thread_name_prefix="private-hosts")
log = structlog.get_logger(__name__)


class HostRefusedError(ValueError):
    """Text that is no host with a port, or one that nobody can allow."""


def list_private_hosts() -> list[PrivateHost]:
    """Return the hosts that admins allowed, by name."""
    return list(PrivateHost.objects.select_related("by"))


@transaction.atomic
def allow_private_host(*, by: User | None, text: str) -> PrivateHost:
    """Allow a host at a port; one that is allowed already changes nothing.

    Raises HostRefusedError.
    """
    host, port = _parse(text)
    if PrivateHost.objects.count() >= MOST_HOSTS:
        raise HostRefusedError(_("At most %(most)s hosts can be allowed.") % {"most": MOST_HOSTS})
    row, is_new = PrivateHost.objects.get_or_create(host=host, port=port, defaults={"by": by})
    if is_new:
        record(by=by, action="host.allow", target=str(row), details={"host": host, "port": port})
    return row


@transaction.atomic
def forget_private_host(*, by: User | None, text: str) -> bool:
    """Close a host again; return False if it was not allowed here."""
    host, port = _parse(text)
    row = PrivateHost.objects.select_for_update().filter(host=host, port=port).first()
    if row is None:
        return False
    row.delete()
    record(by=by, action="host.forget", target=str(row), details={"host": host, "port": port})
    return True


def closed_host(address: str, *, was_refused: bool = False) -> str:
    """Return the host and port that would have to be allowed for an address; "" if none helps.

    `was_refused` says that a connection was: the name of a public address leads inwards.
    """
    if not was_refused:
        try:
            check_address(address, AllowedHosts.from_settings())
        except EndpointNotAllowedError:
            pass
        else:
            return ""
    try:
        host, port = host_and_port(address)
        check_address(address, AllowedHosts.of([(host, port)]))
    except EndpointNotAllowedError:
        return ""
    if AllowedHosts.from_settings().allow(host, port):
        return ""
    return str(PrivateHost(host=host, port=port))


def _parse(text: str) -> tuple[str, int]:
    match = _PORT.fullmatch(text.strip().lower())
    if match is None or int(match["port"]) > 65_535 or len(text) > MOST_CHARACTERS:
        raise HostRefusedError(_("Write a host and its port, such as localhost:8205."))
    url = f"http://{match['host']}:{match['port']}/"
    try:
        host, port = host_and_port(url)
        check_address(url, AllowedHosts.of([(host, port)]))
    except EndpointNotAllowedError:
        raise HostRefusedError(_("Nobody can allow this host.")) from None
    return host, port


def is_stored_host(host: str, port: int) -> bool:
    """Return True if an admin has allowed the host; a list that cannot be read allows nothing."""
    row = PrivateHost.objects.filter(host=host, port=port)

    def read_apart() -> bool:
        try:
            return row.exists()
        finally:
            connection.close()

    try:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return row.exists()
        return _reader.submit(read_apart).result(_SECONDS)
    except (Error, RuntimeError, TimeoutError) as problem:
        log.warning("allowed hosts could not be read", problem=type(problem).__name__)
        return False
