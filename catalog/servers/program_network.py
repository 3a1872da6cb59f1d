"""The network of an integration's program: its allowed hosts, and its attempts."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from acl.audit.recorder import record
from catalog.formats.descriptors import IntegrationDescriptor
from catalog.models import Integration, OutgoingHost
from catalog.servers.cell.allowed_hosts import HostRules, NotAHostError, parse_hosts

MOST_PROPOSED = 10
_MOST_SHOWN = 30
# A whole address, or a setting's value such as `HOST=api.example.com`.
_ADDRESS = re.compile(
    r"\b(?:https?|wss?)://([A-Za-z0-9.-]+\.[A-Za-z]{2,}(?::[0-9]{1,5})?)(?=[/\s\"'?#]|$)"
)


@dataclass(frozen=True, slots=True)
class ProgramNetwork:
    """The network of a program, with the hosts that it tried."""

    whole: bool
    hosts: tuple[str, ...]
    tried: tuple[OutgoingHost, ...]
    refused: tuple[OutgoingHost, ...]


def program_network(integration: Integration) -> ProgramNetwork:
    """Return what the integration's program may reach, and what it tried."""
    tried = list(OutgoingHost.objects.filter(integration=integration)[:_MOST_SHOWN])
    rules = HostRules(tuple(integration.allowed_hosts))
    return ProgramNetwork(
        integration.network == Integration.Network.ALL,
        tuple(integration.allowed_hosts),
        tuple(row for row in tried if row.allowed),
        tuple(row for row in tried if not row.allowed and not _is_allowed(row.host, rules)),
    )


@transaction.atomic
def set_network(
    *, by: User | None, integration: Integration, whole: bool, hosts: Iterable[str]
) -> bool:
    """Set what the program may reach; return False if nothing changes.

    A running program is replaced before its next call. Raises NotAHostError.
    """
    rules = parse_hosts(hosts)
    network = Integration.Network.ALL if whole else Integration.Network.LISTED
    row = Integration.objects.select_for_update(no_key=True).get(pk=integration.pk)
    if (row.network, row.allowed_hosts) == (network, rules):
        return False
    Integration.objects.filter(pk=row.pk).update(network=network, allowed_hosts=rules)
    details = {"network": network.value, "hosts": rules, "before": row.allowed_hosts}
    record(by=by, action="integration.network", target=row.slug, details=details)
    integration.network, integration.allowed_hosts = network, rules
    return True


def allow_host(*, by: User, integration: Integration, host: str) -> bool:
    """Add one host to the allowed ones."""
    whole = integration.network == Integration.Network.ALL
    hosts = [*integration.allowed_hosts, host]
    return set_network(by=by, integration=integration, whole=whole, hosts=hosts)


def propose_hosts(
    descriptor: IntegrationDescriptor, texts: Iterable[str], *, listed_hosts: Iterable[str] = ()
) -> list[str]:
    """Return the hosts that a program's command and the descriptions of its settings name.

    `listed_hosts` are hosts that its source lists as such; a wildcard is an admin's to choose.
    """
    if descriptor.transport != "stdio":
        return []
    addressed_hosts = [
        host for text in (*descriptor.command, *texts) for host in _ADDRESS.findall(text)
    ]
    proposed = []
    plain = [name for name in listed_hosts if "*" not in name]
    for host in dict.fromkeys(name.lower() for name in (*plain, *addressed_hosts)):
        try:
            proposed += parse_hosts([host])
        except NotAHostError:
            continue
    return sorted(set(proposed))[:MOST_PROPOSED]


def _is_allowed(host: str, rules: HostRules) -> bool:
    name, _, port = host.partition(":")
    return rules.allow(name, int(port or 443)) or rules.allow_public(int(port or 443))
