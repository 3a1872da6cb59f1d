"""From a proposed server to an installation, when an admin says yes."""

from django.contrib.auth.models import User
from django.db import transaction

from catalog.formats.descriptors import IntegrationDescriptor
from catalog.formats.names import slug_for
from catalog.models import ServerProposal
from catalog.servers.server_proposals import answer_proposal
from marketplace.installs.install_requests import start_install
from marketplace.models import Installation


@transaction.atomic
def install_proposed(
    *, by: User, proposal: ServerProposal, for_group: bool, note: str = ""
) -> Installation:
    """Begin to install it, for the group that asked or for nobody yet.

    Raises AnsweredError, AlreadyThereError and EndpointNotAllowedError, and then nothing happened.
    """
    answer_proposal(by=by, proposal=proposal, approve=True, note=note)
    return start_install(
        by=by,
        descriptor=descriptor_of(proposal),
        groups=[proposal.group] if for_group else [],
    )


def descriptor_of(proposal: ServerProposal) -> IntegrationDescriptor:
    """What would be installed."""
    return IntegrationDescriptor(
        slug=slug_for(proposal.name),
        kind="mcp",
        title=proposal.name,
        description=proposal.reason,
        transport="http",
        endpoint=proposal.endpoint,
        source_ref={"type": "proposal", "by": proposal.user.get_username()},
    )
