"""Methods of MCP that are passed on to a server, and what each is about."""

from collections.abc import Callable
from typing import NamedTuple

from acl.actor.chain import CredentialKind
from acl.models import ApiKey
from acl.models.api_key import IN_FORCE
from catalog.access.servers import may_use_server
from catalog.formats.descriptors import JSONObject
from discovery.models import ServerRequest


class PassedMethod(NamedTuple):
    """A method, the feature that a server announces for it, and its target for the record."""

    feature: str
    target: Callable[[JSONObject], str] = lambda params: ""


def _completed(params: JSONObject) -> str:
    reference = params["ref"]
    return str(reference.get("uri") or reference.get("name"))


SUBSCRIPTIONS = "subscriptions"
PASSED = {
    "resources/list": PassedMethod("resources"),
    "resources/templates/list": PassedMethod("resources"),
    "resources/read": PassedMethod("resources", lambda params: str(params["uri"])),
    "prompts/list": PassedMethod("prompts"),
    "prompts/get": PassedMethod("prompts", lambda params: str(params["name"])),
    "completion/complete": PassedMethod("completions", _completed),
    "resources/subscribe": PassedMethod(SUBSCRIPTIONS, lambda params: str(params["uri"])),
    "resources/unsubscribe": PassedMethod(SUBSCRIPTIONS, lambda params: str(params["uri"])),
}
# Requests of a session that listens: what it wants to hear is kept, and no server gets its name.
LISTEN = "subscriptions/listen"
WATCHING = frozenset({LISTEN, "resources/subscribe", "resources/unsubscribe"})


# The right to ask a server, checked by the worker with the whole chain of the request.


def is_permitted(request: ServerRequest) -> bool:
    """Return True if the whole chain may still ask this server."""
    if request.acts_for_other or request.integration.unconfirmed:
        return False
    of_key = ApiKey.objects.filter(IN_FORCE, pk=request.key_id or 0)
    if request.credential == CredentialKind.KEY and not of_key.exists():
        return False
    return may_use_server(request.caller, request.integration_id)
