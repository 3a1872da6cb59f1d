"""Preparing an installation: variables, command, confirmation digest, and reasons to refuse it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from django.contrib.auth.models import Group, User
from django.db.models import Prefetch, Q
from django.utils.translation import gettext_lazy as _

from acl.models import Space
from catalog.formats.descriptors import IntegrationDescriptor
from catalog.servers.client.launch_rules import CommandNotAllowedError, check_variables
from catalog.servers.client.variable_rules import refusal_reason
from catalog.servers.net.address_check import AllowedHosts, EndpointNotAllowedError, check_address
from catalog.servers.net.private_hosts import closed_host
from catalog.servers.program_network import propose_hosts
from marketplace.installs.confirmation import (
    ConnectionLine,
    bounds_of,
    connection_lines,
    digest_of_target,
)
from marketplace.installs.integration_management import descriptor_of_listing
from marketplace.installs.requests import check_program
from marketplace.models import Listing, ListingVersion
from marketplace.offers.offer import PackageTest, read_package_test

MOST_GROUPS = 50
_PLACEHOLDER = re.compile(r"\{[A-Za-z_][\w .-]*\}")
NOT_PERMITTED = _(
    "You are not allowed to install servers that run programs on this machine. An admin who has "
    "the permission “Can install servers that run programs on this machine” can grant it to you."
)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the listing, usually a secret."""

    name: str
    description: str
    is_secret: bool
    is_required: bool
    default: str = ""
    choices: tuple[str, ...] = ()
    refusal: str = ""  # reason why Pegboard refuses to set it


@dataclass(frozen=True, slots=True)
class Prepared:
    """A listing as it would be installed. Without `digest` the exact version is looked up first."""

    descriptor: IntegrationDescriptor
    variables: tuple[Variable, ...]
    gaps: tuple[str, ...] = ()  # placeholders in the command, to be filled first
    digest: str = ""
    bounds: tuple[str, ...] = ()  # that this version is known to need
    problem: str = ""  # reason why it may not be installed
    proposed_hosts: tuple[str, ...] = ()  # that its program seems to need

    @property
    def test(self) -> PackageTest | None:
        """Findings about its package, which come with Pegboard."""
        return read_package_test(self.descriptor.source_ref)

    @property
    def further_lines(self) -> tuple[ConnectionLine, ...]:
        """Facts confirmed with a server's address: headers, and where people sign in."""
        lines = connection_lines(self.descriptor)
        return tuple(line for line in lines if line.part.startswith(("headers.", "security.")))

    @property
    def closed_host(self) -> str:
        """Host to allow first, of a server's address; "" where it is open, or none helps."""
        remote = self.descriptor.transport not in ("", "stdio")
        return closed_host(self.descriptor.endpoint) if remote else ""

    @property
    def target_digest(self) -> str:
        """Digest of a server's address; "" for local programs."""
        remote = self.descriptor.transport not in ("", "stdio")
        return digest_of_target(self.descriptor) if remote else ""


@dataclass(frozen=True, slots=True)
class Receivers:
    """Groups to choose from. `places` of each are its spaces below the root."""

    groups: tuple[Group, ...]
    ticked_groups: frozenset[int]
    ticked_spaces: frozenset[int]
    words: str
    has_more: bool


def prepare_install(
    *, by: User, listing: Listing, version: str = "", filled: Iterable[str] = ()
) -> Prepared | None:
    """Prepare the listing, or the given version of it; None if there is no such version.

    `filled` contains the values of the command's placeholders, in order.
    """
    if version and not ListingVersion.objects.filter(listing=listing, version=version).exists():
        return None
    descriptor = _fill_placeholders(descriptor_of_listing(listing, version), filled)
    variables = _variables(listing, descriptor)
    gaps = tuple(part[1:-1] for part in descriptor.command if _PLACEHOLDER.fullmatch(part))
    if descriptor.transport == "stdio" and not by.has_perm("marketplace.install_stdio"):
        return Prepared(descriptor, variables, problem=str(NOT_PERMITTED))
    try:
        if descriptor.transport == "stdio":
            check_variables(descriptor.required_secrets)
        if gaps:
            return Prepared(descriptor, variables, gaps)
        hosts = tuple(proposed_hosts_of(listing, descriptor))
        return Prepared(
            descriptor,
            variables,
            digest=_digest(descriptor),
            bounds=tuple(bounds_of(descriptor)),
            proposed_hosts=hosts,
        )
    except (CommandNotAllowedError, EndpointNotAllowedError) as refused:
        return Prepared(descriptor, variables, problem=str(refused))


def proposed_hosts_of(listing: Listing, descriptor: IntegrationDescriptor) -> list[str]:
    """Return the hosts that the listing names: as such, in its command, and with its variables."""
    variables = _variables(listing, descriptor)
    hosts = [str(host) for host in descriptor.source_ref.get("hosts") or ()]
    return propose_hosts(
        descriptor, [variable.description for variable in variables], listed_hosts=hosts
    )


def find_receivers(
    *,
    words: str = "",
    groups: Iterable[int] = (),
    spaces: Iterable[int] = (),
    suggest: bool = False,
) -> Receivers:
    """Return selected groups first, including those with a selected space, then groups by name.

    `suggest` is for a form that nobody has filled in yet: where there is one group, it is ticked,
    since without any the newly installed is of no use to anyone.
    """
    selected = frozenset(groups), frozenset(spaces)
    if suggest and len(only := Group.objects.values_list("pk", flat=True)[:2]) == 1:
        selected = frozenset(only), frozenset()
    places = Space.objects.filter(parent__isnull=False).order_by("name", "pk")
    rows = Group.objects.prefetch_related(Prefetch("spaces", places, to_attr="places"))
    with_selection = Q(pk__in=selected[0]) | Q(spaces__in=selected[1])
    first = list(rows.filter(with_selection).distinct().order_by("name", "pk"))
    fitting = Group.objects.filter(Q(name__icontains=words) | Q(spaces__name__icontains=words))
    others = rows.filter(pk__in=fitting).exclude(pk__in=[group.pk for group in first])
    further = list(others.order_by("name", "pk")[: MOST_GROUPS + 1])
    return Receivers((*first, *further[:MOST_GROUPS]), *selected, words, len(further) > MOST_GROUPS)


def _variables(listing: Listing, descriptor: IntegrationDescriptor) -> tuple[Variable, ...]:
    """Return the variables with the listing's descriptions. Undescribed ones count as secret."""
    described = {
        str(variable.get("name")): variable for variable in listing.needs.get("variables", ())
    }
    names = dict.fromkeys((*descriptor.required_secrets, *described))
    return tuple(
        Variable(
            name=name,
            description=str(described.get(name, {}).get("description", "")),
            is_secret=bool(described.get(name, {}).get("secret", True)),
            is_required=name in descriptor.required_secrets,
            default=str(described.get(name, {}).get("default", "")),
            choices=tuple(described.get(name, {}).get("choices", ())),
            refusal=refusal_reason(name) if descriptor.transport == "stdio" else "",
        )
        for name in names
    )


def _digest(descriptor: IntegrationDescriptor) -> str:
    """Check that it may be installed, and return the digest to confirm."""
    if descriptor.transport == "stdio":
        return check_program(descriptor).digest
    if descriptor.transport:
        check_address(descriptor.endpoint, AllowedHosts.from_settings())
    return ""


def _fill_placeholders(
    descriptor: IntegrationDescriptor, values: Iterable[str]
) -> IntegrationDescriptor:
    replacements = iter(values)
    command = (
        (next(replacements, "").strip() or part) if _PLACEHOLDER.fullmatch(part) else part
        for part in descriptor.command
    )
    return replace(descriptor, command=tuple(command))
