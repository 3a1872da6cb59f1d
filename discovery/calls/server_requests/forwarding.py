"""The web's part of a request: check the right, store it, and await the worker's answer.

The web process contacts no server.
"""

from collections.abc import Collection
from functools import partial

from django.conf import settings
from django.db import transaction
from redis import Redis

from acl.actor.request_context import current_chain
from acl.models import chain_columns
from acl.platform.redis_circuit import attempt
from acl.platform.strict_json import write_json
from acl.rights.caller_lookup import Caller
from catalog.access.servers import may_use_server
from catalog.formats.descriptors import JSONObject
from catalog.models import Integration
from discovery.calls.server_requests.passed_methods import PASSED
from discovery.calls.waiting import wait_for_end
from discovery.models import ServerRequest

QUEUE = "pegboard:requests"
# A request that no worker has taken after this time is dropped: nobody waits for it any more.
BEGIN_WITHIN_SECONDS = 60
INTERNAL_ERROR = -32603
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


def forward(
    *,
    caller: Caller,
    integration: Integration,
    method: str,
    params: JSONObject,
    capabilities: Collection[str] = (),
) -> JSONObject:
    """Send a request to the server and return its result. Raises RequestFailedError.

    `capabilities` are what the client can be asked before the server goes on. The caller has
    checked that `passed_features` has the method's; the worker checks it again.
    """
    request = ServerRequest(
        user_id=caller.user_id,
        group_id=caller.group_id,
        space_id=caller.space_id,
        other_groups=list(caller.other_groups),
        **chain_columns(),
        integration=integration,
        method=method,
        target=PASSED[method].target(params)[:500] if method in PASSED else "",
        params_json=write_json(params),
        capabilities=sorted(capabilities),
    )
    request.save(force_insert=True)
    transaction.on_commit(partial(_send, request), robust=True)
    request = wait_for_end(request, settings.PEGBOARD_CALL_WAIT_SECONDS)
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
