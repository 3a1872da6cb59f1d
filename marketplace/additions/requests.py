"""Requests to add what was pasted. This module only writes rows; a worker looks at addresses."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.models import User
from django.db import transaction
from packaging.utils import canonicalize_name

from acl.audit.recorder import record
from acl.platform.task_names import LOOK_AT_ADDITION, send_on_commit
from acl.rights.caller_lookup import Caller
from catalog.formats.descriptors import Defect, IntegrationDescriptor
from catalog.formats.files import RefusedError
from catalog.formats.package_names import NotAPackageError, Package, parse_package
from catalog.models import ApiDocument, ServerProposal
from catalog.servers.net.address_check import AllowedHosts, check_address
from catalog.servers.proposals import answer_proposal, propose_server
from marketplace.additions._listing import store_pasted_skill, store_server
from marketplace.additions.recognition import (
    NotRecognisedError,
    Recognised,
    is_package,
    recognise,
)
from marketplace.models import Addition, Listing, Source
from marketplace.offers.offer import ADDED, FINDINGS

# Knowledge about pasted packages: what the starter collection's listing of the same package says.
# The listing is the only place that has it. Whoever pastes the name of a package gets its bounds,
# variables, hosts and tools, and its version where no other one was named.

_INDEXES = ("pypi", "npm")


def add_knowledge(descriptor: IntegrationDescriptor) -> IntegrationDescriptor:
    """Return the descriptor with what is known of its package; unchanged if nothing is."""
    package = _package_of(descriptor)
    listing = _find_listing(package) if package else None
    if package is None or listing is None:
        return descriptor
    # The package with the known version, program and arguments where it names none.
    values: dict[str, Any] = {"version": package.version or listing.version}
    listed = parse_package(listing.command)
    if listed is not None and not package.program and not package.arguments:
        values |= {"program": listed.program, "arguments": listed.arguments}
    chosen = replace(package, **values)
    source_ref = descriptor.source_ref
    variables = [*listing.needs.get("variables", []), *source_ref.get("variables", [])]
    reference = {
        **source_ref,
        "type": ADDED,
        FINDINGS: listing.details[FINDINGS],
        "hosts": [*listing.details.get("hosts", ())],
        "tools": [
            {"name": tool["name"], "effect": tool["side_effect"]}
            for tool in listing.tools
            if "side_effect" in tool
        ],
        "variables": list({variable["name"]: variable for variable in variables}.values()),
    }
    required = dict.fromkeys((*descriptor.required_secrets, *listing.required_secrets))
    return replace(
        descriptor,
        command=chosen.command(),
        version=chosen.version,
        description=descriptor.description or listing.description,
        homepage=descriptor.homepage or listing.homepage,
        licence=descriptor.licence or listing.licence,
        required_secrets=tuple(required),
        source_ref=reference,
    )


def _package_of(descriptor: IntegrationDescriptor) -> Package | None:
    try:
        package = parse_package(descriptor.command)
    except NotAPackageError:
        return None
    return package if package and package.index in _INDEXES else None


def _find_listing(package: Package) -> Listing | None:
    """Return the starter collection's listing of a package that is known to work."""
    package_key = f"{package.index}:{package.name}"
    if package.index == "pypi":
        package_key = f"pypi:{canonicalize_name(package.name)}"
    rows = Listing.objects.filter(source__kind=Source.STARTER, details__has_key=FINDINGS)
    return rows.filter(details__tested__package=package_key).order_by("pk").first()


State, What = Addition.State, Addition.What
LEFT_OUT = "left_out"  # the reason of a part of a configuration that was not taken
MOST_SERVERS = 50  # of one configuration


@transaction.atomic
def add(
    *,
    by: User,
    text: str,
    name: str = "",
    index: str = "",
    api_address: str = "",
    proposal: ServerProposal | None = None,
) -> list[Addition]:
    """Begin to add what was pasted; several servers of one configuration are several additions.

    Raises NotRecognisedError, EndpointNotAllowedError and, for an answered proposal, AnsweredError.
    """
    recognised = recognise(text, name=name, index=index)
    if api_address:
        check_address(api_address, AllowedHosts.from_settings())
    if proposal is not None:
        answer_proposal(by=by, proposal=proposal, approve=True)
    if recognised.servers:
        return _add_servers(by, recognised, name)
    if recognised.skill:
        return [_add_skill(by, recognised.skill, name)]
    row = Addition(name=name, api_address=api_address, by=by, what=What.ADDRESS)
    if recognised.document:
        row.what, row.document = What.API, ApiDocument.of(recognised.document, by=by)
        row.document.save()
    else:
        check_address(recognised.address, AllowedHosts.from_settings())
        row.address = recognised.address
    row.save()
    details = {"what": row.what, "host": urlsplit(row.address).hostname or ""}
    record(by=by, action="addition.look", target=str(row)[:100], details=details)
    send_on_commit(LOOK_AT_ADDITION, row.pk)
    return [row]


def _add_skill(by: User, text: str, name: str) -> Addition:
    """Store the listing of a pasted skill: it is text, so there is nothing to look at."""
    row = Addition(name=name, by=by, what=What.PACKAGE)
    try:
        store_pasted_skill(row, text)
    except RefusedError as refused:
        raise NotRecognisedError(f"SKILL.md: {refused}") from refused
    row.save()
    details = {"what": row.what, "listing": row.listing}
    record(by=by, action="addition.add", target=str(row)[:100], details=details)
    return row


def propose(*, caller: Caller, text: str, name: str = "", reason: str = "") -> ServerProposal:
    """Propose what was pasted to the admins. It is recognised first, and nothing is contacted.

    Raises NotRecognisedError, ProposalRefusedError and EndpointNotAllowedError.
    """
    recognised = recognise(text, name=name)
    if recognised.document or recognised.skill:
        raise NotRecognisedError("Propose a document by its address.")
    if recognised.address:
        server_name = name or urlsplit(recognised.address).hostname or "server"
        return propose_server(
            caller=caller, name=server_name, endpoint=recognised.address, reason=reason
        )
    server_name = name or recognised.servers[0].title
    return propose_server(caller=caller, name=server_name, pasted=text.strip(), reason=reason)


def _add_servers(by: User, recognised: Recognised, name: str) -> list[Addition]:
    """Store the listings of servers that need no look: each says itself what is started.

    What was left out of a server is told with it; a server that cannot be taken is told as one.
    """
    rows: list[Addition] = []
    left_out = list(recognised.left_out)
    for descriptor in recognised.servers[:MOST_SERVERS]:
        place = str(descriptor.source_ref.get("name") or descriptor.slug)
        of_it = [defect for defect in left_out if defect.field.startswith(f"{place}.")]
        left_out = [defect for defect in left_out if defect not in of_it]
        row = Addition(name=name or descriptor.title[:100], by=by, what=_kind_of(descriptor))
        store_server(row, add_knowledge(descriptor), is_named=bool(name))
        row.message = "\n".join((row.message, *map(str, of_it)))
        details = {"what": row.what, "listing": row.listing, "left_out": list(map(str, of_it))}
        record(by=by, action="addition.add", target=str(row)[:100], details=details)
        rows.append(row)
    for server in recognised.servers[MOST_SERVERS:]:
        reason = f"is left out: only the first {MOST_SERVERS} servers are added at once"
        left_out.append(Defect("pasted", server.title, reason))
    for defect in left_out:
        row = Addition(name=defect.field[:100], by=by, what=What.SERVER, message=str(defect))
        row.state, row.reason = State.FAILED, LEFT_OUT
        rows.append(row)
    for row in rows:
        row.save()
    return rows


def _kind_of(descriptor: IntegrationDescriptor) -> Addition.What:
    if descriptor.transport != "stdio":
        return What.SERVER
    return What.PACKAGE if is_package(descriptor) else What.PROGRAM
