"""The registry of built-in tools, and running one: only the worker that sends calls imports it."""

from concurrent.futures import Future, ThreadPoolExecutor

import structlog
from django.db import close_old_connections

from acl.platform.open_registry import modules_of
from acl.platform.strict_json import write_json
from catalog.built_ins.base import Function, RowOwner, ToolError
from catalog.formats.descriptors import JSONObject
from catalog.formats.names import full_name_for
from catalog.servers.client.mcp_session import ToolResult
from catalog.servers.client.server_problems import Reason, ServerProblemError

log = structlog.get_logger(__name__)
_MOST_AT_ONCE = 8


FUNCTIONS: dict[str, Function] = {
    full_name_for(module.SLUG, action) if action else module.SLUG: function
    for module in modules_of("catalog.built_ins").values()
    for action, function in module.TOOLS.items()
}
_running = ThreadPoolExecutor(_MOST_AT_ONCE, thread_name_prefix="built-in")


def begin_built_in(
    full_name: str, arguments: JSONObject, *, user_id: int | None
) -> Future[ToolResult]:
    """Run a tool in a thread of its own. The caller has checked rights and arguments."""

    def run() -> ToolResult:
        close_old_connections()
        try:
            return run_built_in(full_name, arguments, user_id=user_id)
        finally:
            close_old_connections()

    return _running.submit(run)


def run_built_in(full_name: str, arguments: JSONObject, *, user_id: int | None) -> ToolResult:
    """Return the tool's answer, which may be an error of the tool.

    Raises ServerProblemError if the tool broke: nothing is known about its outcome then.
    """
    try:
        answer = FUNCTIONS[full_name](arguments, RowOwner(user_id))
    except ToolError as refused:
        return ToolResult([{"type": "text", "text": str(refused)}], is_error=True)
    except ServerProblemError:
        raise
    except Exception:
        log.exception("built-in tool failed", tool=full_name)
        raise ServerProblemError(Reason.CRASHED, sent=True) from None
    if isinstance(answer, str):
        return ToolResult([{"type": "text", "text": answer}])
    text = write_json(answer, ensure_ascii=False)
    return ToolResult([{"type": "text", "text": text}], structured=answer)
