"""Installing a proposed server when an admin approves it."""

from django.contrib.auth.models import User
from django.db import transaction

from catalog.formats.descriptors import IntegrationDescriptor
from catalog.formats.names import slug_for
from catalog.models import ServerProposal
from catalog.servers.proposals import answer_proposal
from marketplace.installs.requests import start_install
from marketplace.models import Installation


@transaction.atomic
def install_proposed(
    *, by: User, proposal: ServerProposal, for_group: bool, note: str = ""
) -> Installation:
    """Approve the proposal and start its installation, for the requesting group or without a grant.

    Raises AnsweredError, AlreadyInstalledError and EndpointNotAllowedError, with nothing changed.
    """
    answer_proposal(by=by, proposal=proposal, approve=True, note=note)
    return start_install(
        by=by,
        descriptor=descriptor_of(proposal),
        groups=[proposal.group] if for_group else [],
    )


def descriptor_of(proposal: ServerProposal) -> IntegrationDescriptor:
    """Return the descriptor of the proposed server."""
    return IntegrationDescriptor(
        slug=slug_for(proposal.name),
        kind="mcp",
        title=proposal.name,
        description=proposal.reason,
        transport="http",
        endpoint=proposal.endpoint,
        source_ref={"type": "proposal", "by": proposal.user.get_username()},
    )
