"""Methods of MCP that are passed on to a server, and what each is about."""

from collections.abc import Callable
from typing import NamedTuple

from catalog.formats.descriptors import JSONObject


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
