"""The right to ask a server, checked by the worker with the whole chain of the request."""

from acl.models import ApiKey
from catalog.access.server_access import may_use_server
from discovery.models import ServerRequest


def is_permitted(request: ServerRequest) -> bool:
    """Return True if the whole chain may still ask this server."""
    if request.acts_for_other or request.integration.unconfirmed:
        return False
    if request.key_id and not ApiKey.objects.filter(pk=request.key_id, revoked_at=None).exists():
        return False
    return may_use_server(request.caller, request.integration_id)
