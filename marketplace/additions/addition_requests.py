"""Requests to add what was pasted. This module only writes rows; a worker looks at addresses."""

from urllib.parse import urlsplit

from django.contrib.auth.models import User
from django.db import transaction

from acl.audit.recorder import record
from acl.platform.jobs.task_names import LOOK_AT_ADDITION
from acl.platform.jobs.task_queue import send_on_commit
from acl.rights.caller import Caller
from catalog.formats.descriptors import IntegrationDescriptor
from catalog.models import ApiDocument, ServerProposal
from catalog.servers.net.address_check import AllowedHosts, check_address
from catalog.servers.server_proposals import answer_proposal, propose_server
from marketplace.additions.package_knowledge import add_knowledge
from marketplace.additions.recognition import NotRecognisedError, is_package, recognise
from marketplace.additions.stored_additions import store_server
from marketplace.models import Addition

State, What = Addition.State, Addition.What


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
        return [_add_server(by, one, name) for one in recognised.servers[:50]]
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


def propose(*, caller: Caller, text: str, name: str = "", reason: str = "") -> ServerProposal:
    """Propose what was pasted to the admins. It is recognised first, and nothing is contacted.

    Raises NotRecognisedError, ProposalRefusedError and EndpointNotAllowedError.
    """
    recognised = recognise(text, name=name)
    if recognised.document:
        raise NotRecognisedError("Propose a document by its address.")
    if recognised.address:
        named = name or urlsplit(recognised.address).hostname or "server"
        return propose_server(caller=caller, name=named, endpoint=recognised.address, reason=reason)
    named = name or recognised.servers[0].title
    return propose_server(caller=caller, name=named, wanted=text.strip(), reason=reason)


def _add_server(by: User, descriptor: IntegrationDescriptor, name: str) -> Addition:
    """Store the listing of a server that needs no look: it says itself what is started."""
    row = Addition(name=name or descriptor.title[:100], by=by, what=_kind_of(descriptor))
    store_server(row, add_knowledge(descriptor))
    row.save()
    details = {"what": row.what, "listing": row.listing}
    record(by=by, action="addition.add", target=str(row)[:100], details=details)
    return row


def _kind_of(descriptor: IntegrationDescriptor) -> Addition.What:
    if descriptor.transport != "stdio":
        return What.SERVER
    return What.PACKAGE if is_package(descriptor) else What.PROGRAM
