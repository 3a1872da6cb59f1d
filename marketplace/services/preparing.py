"""Before an installation: what somebody confirms, gives and chooses, and why it may not begin."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from django.contrib.auth.models import Group, User
from django.db.models import Prefetch, Q

from acl.models import Space
from catalog.descriptors import IntegrationDescriptor
from catalog.mcp_client.commands import CommandNotAllowedError, check_variables
from catalog.mcp_client.variables import refusal_of
from catalog.outgoing.addresses import AllowedHosts, check_address
from catalog.outgoing.problems import EndpointNotAllowedError
from marketplace.confirming import digest_of_target
from marketplace.models import Listing, ListingVersion
from marketplace.services.installs import check_program
from marketplace.services.managing import descriptor_of_listing

MOST_GROUPS = 50
_GAP = re.compile(r"\{[A-Za-z_][\w .-]*\}")
MAY_NOT = (
    "You may not install what runs programs here. That takes the permission “Can install servers "
    "that run programs on this machine”, which an admin who has it can give you."
)


@dataclass(frozen=True, slots=True)
class Variable:
    """Something that it asks for, usually a secret."""

    name: str
    description: str
    is_secret: bool
    is_required: bool
    refusal: str = ""  # why Pegboard does not set it


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is about to be installed. `digest` is what a person confirms of its command; without one
    the exact version is looked up first, and confirmed then."""

    descriptor: IntegrationDescriptor
    variables: tuple[Variable, ...]
    gaps: tuple[str, ...] = ()  # of the command, to be filled before it can be shown
    digest: str = ""
    problem: str = ""  # why it may not be installed

    @property
    def target_digest(self) -> str:
        """The digest that says that the address was seen; "" for what runs here."""
        remote = self.descriptor.transport not in ("", "stdio")
        return digest_of_target(self.descriptor) if remote else ""


@dataclass(frozen=True, slots=True)
class Receivers:
    """Groups to choose from, each with its `places`: the spaces below its root."""

    groups: tuple[Group, ...]
    ticked_groups: frozenset[int]
    ticked_spaces: frozenset[int]
    words: str
    has_more: bool


def prepare_install(
    *, by: User, listing: Listing, version: str = "", filled: Iterable[str] = ()
) -> Prepared | None:
    """The listing, or the version of it that is named, as it would be installed now; `filled` goes
    into the gaps of its command, in their order."""
    if version and not ListingVersion.objects.filter(listing=listing, version=version).exists():
        return None
    descriptor = _filled(descriptor_of_listing(listing, version), filled)
    variables = _variables(listing, descriptor)
    gaps = tuple(part[1:-1] for part in descriptor.command if _GAP.fullmatch(part))
    if descriptor.transport == "stdio" and not by.has_perm("marketplace.install_stdio"):
        return Prepared(descriptor, variables, problem=MAY_NOT)
    try:
        if descriptor.transport == "stdio":
            check_variables(descriptor.required_secrets)
        if gaps:
            return Prepared(descriptor, variables, gaps)
        return Prepared(descriptor, variables, digest=_digest(descriptor))
    except (CommandNotAllowedError, EndpointNotAllowedError) as refused:
        return Prepared(descriptor, variables, problem=str(refused))


def find_receivers(
    *, words: str = "", groups: Iterable[int] = (), spaces: Iterable[int] = ()
) -> Receivers:
    """The groups that are ticked, or of which a space is; then those whose name fits."""
    ticked = frozenset(groups), frozenset(spaces)
    places = Space.objects.filter(parent__isnull=False).order_by("name", "pk")
    rows = Group.objects.prefetch_related(Prefetch("spaces", places, to_attr="places"))
    with_ticks = Q(pk__in=ticked[0]) | Q(spaces__in=ticked[1])
    first = list(rows.filter(with_ticks).distinct().order_by("name", "pk"))
    fitting = Group.objects.filter(Q(name__icontains=words) | Q(spaces__name__icontains=words))
    others = rows.filter(pk__in=fitting).exclude(pk__in=[group.pk for group in first])
    found = list(others.order_by("name", "pk")[: MOST_GROUPS + 1])
    return Receivers((*first, *found[:MOST_GROUPS]), *ticked, words, len(found) > MOST_GROUPS)


def _variables(listing: Listing, descriptor: IntegrationDescriptor) -> tuple[Variable, ...]:
    """As the listing describes them; what only this version needs is a secret."""
    described = {str(one.get("name")): one for one in listing.needs.get("variables", ())}
    names = dict.fromkeys((*descriptor.required_secrets, *described))
    return tuple(
        Variable(
            name=name,
            description=str(described.get(name, {}).get("description", "")),
            is_secret=bool(described.get(name, {}).get("secret", True)),
            is_required=name in descriptor.required_secrets,
            refusal=refusal_of(name) if descriptor.transport == "stdio" else "",
        )
        for name in names
    )


def _digest(descriptor: IntegrationDescriptor) -> str:
    """What is to be confirmed, once it has been looked at whether it may be installed at all."""
    if descriptor.transport == "stdio":
        return check_program(descriptor).digest
    if descriptor.transport:
        check_address(descriptor.endpoint, AllowedHosts.from_settings())
    return ""


def _filled(descriptor: IntegrationDescriptor, values: Iterable[str]) -> IntegrationDescriptor:
    given = iter(values)
    command = (
        (next(given, "").strip() or part) if _GAP.fullmatch(part) else part
        for part in descriptor.command
    )
    return replace(descriptor, command=tuple(command))
