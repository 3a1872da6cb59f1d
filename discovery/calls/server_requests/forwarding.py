"""The web's part of a request: check the right, store it, and await the worker's answer.

The web process contacts no server.
"""

import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import NamedTuple

from django.conf import settings
from django.db import transaction
from redis import Redis

from acl.actor import CredentialKind, current_chain
from acl.models import ApiKey, chain_columns
from acl.models.api_key import IN_FORCE
from acl.platform.redis_circuit import attempt
from acl.platform.strict_json import write_json
from acl.rights.caller_lookup import Caller
from catalog.access.usable_ids import may_use_server, usable_servers
from catalog.formats.descriptors import JSONObject
from catalog.models import Integration
from discovery.calls._audience import name_asker
from discovery.calls.channel import wait_for_end
from discovery.models import ServerRequest

# Methods of MCP that are passed on to a server, and what each is about.


class PassedMethod(NamedTuple):
    """A method, the feature that a server announces for it, and its target for the record."""

    feature: str
    target: Callable[[JSONObject], str] = lambda params: ""


def _completed(params: JSONObject) -> str:
    reference = params["ref"]
    return str(reference.get("uri") or reference.get("name"))


SUBSCRIPTIONS = "subscriptions"
SKILLS = "skills"
PASSED = {
    "resources/list": PassedMethod("resources"),
    "resources/templates/list": PassedMethod("resources"),
    "resources/read": PassedMethod("resources", lambda params: str(params["uri"])),
    "prompts/list": PassedMethod("prompts"),
    "prompts/get": PassedMethod("prompts", lambda params: str(params["name"])),
    "completion/complete": PassedMethod("completions", _completed),
    "skills/list": PassedMethod(SKILLS),
    "skills/get": PassedMethod(SKILLS, lambda params: str(params["uri"])),
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


QUEUE = "pegboard:requests"
# A request that no worker has taken after this time is dropped: nobody waits for it any more.
BEGIN_WITHIN_SECONDS = 60
INTERNAL_ERROR = -32603
_LAST_LOOK_SECONDS = 0.05
_LATE = "The server did not answer in time. Try again."


class RequestFailedError(Exception):
    """The request failed; `error` is code, message and perhaps data, as MCP has them."""

    def __init__(self, error: JSONObject) -> None:
        super().__init__(error["message"])
        self.error = error


def passed_features(caller: Caller, integration: Integration) -> tuple[str, ...]:
    """Return what the server offers beside tools to this caller.

    Nothing in somebody else's name: whose resources they were would not be told apart.
    """
    if not integration.announces or current_chain().acts_for_other(caller.user_id):
        return ()
    return tuple(integration.announces) if may_use_server(caller, integration.pk) else ()


def passing_servers(caller: Caller) -> list[Integration]:
    """Return the servers with something beside tools for this caller, by slug."""
    if current_chain().acts_for_other(caller.user_id):
        return []
    rows = {row.pk: row for row in Integration.objects.exclude(announces=[]).exclude(transport="")}
    usable = usable_servers(caller, rows)
    return sorted((rows[pk] for pk in usable), key=lambda row: row.slug)


class Passing(NamedTuple):
    """A request to pass on to a server."""

    integration: Integration
    method: str
    params: JSONObject


def forward(
    *, caller: Caller, passing: Passing, capabilities: Collection[str] = (), asker: str = ""
) -> JSONObject:
    """Send a request to the server and return its result. Raises RequestFailedError.

    `capabilities` are what the client can be asked before the server goes on, and `asker` names
    the server in these questions. The caller has checked that `passed_features` has the method's;
    the worker checks it again.
    """
    request = _store(caller, passing, capabilities)
    result = _take_result(wait_for_end(request, settings.PEGBOARD_CALL_WAIT_SECONDS))
    for question in (result.get("inputRequests") or {}).values():
        if asker and "params" in question:
            question["params"] = name_asker(question["params"], asker)
    return result


def forward_all(
    *, caller: Caller, passing: Sequence[Passing], seconds: float
) -> list[JSONObject | RequestFailedError]:
    """Send requests to several servers at once, and return each one's result or its failure."""
    requests = [_store(caller, item, ()) for item in passing]
    deadline = time.monotonic() + min(seconds, settings.PEGBOARD_CALL_WAIT_SECONDS)
    results: list[JSONObject | RequestFailedError] = []
    for request in requests:
        # Those that ended meanwhile are read however late it is.
        remaining = max(deadline - time.monotonic(), _LAST_LOOK_SECONDS)
        try:
            results.append(_take_result(wait_for_end(request, remaining)))
        except RequestFailedError as failed:
            results.append(failed)
    return results


def _store(caller: Caller, passing: Passing, capabilities: Collection[str]) -> ServerRequest:
    integration, method, params = passing
    request = ServerRequest(
        user_id=caller.user_id,
        group_id=caller.group_id,
        space_id=caller.space_id,
        other_groups=list(caller.other_groups),
        application_id=caller.application_id,
        **chain_columns(),
        integration=integration,
        method=method,
        target=PASSED[method].target(params)[:500] if method in PASSED else "",
        params_json=write_json(params),
        capabilities=sorted(capabilities),
    )
    request.save(force_insert=True)
    transaction.on_commit(partial(_send, request), robust=True)
    return request


def _take_result(request: ServerRequest) -> JSONObject:
    """Return the result of an ended request, and keep it no longer."""
    if request.state == ServerRequest.State.COMPLETED:
        result = request.result
        ServerRequest.objects.filter(pk=request.pk).update(result_json="")
        return result
    raise RequestFailedError(request.error or {"code": INTERNAL_ERROR, "message": _LATE})


def _send(request: ServerRequest) -> None:
    def push(redis: Redis) -> None:
        pipeline = redis.pipeline(transaction=False)
        pipeline.rpush(QUEUE, str(request.pk))
        pipeline.expire(QUEUE, BEGIN_WITHIN_SECONDS)
        pipeline.execute()

    attempt(push, default=None)
