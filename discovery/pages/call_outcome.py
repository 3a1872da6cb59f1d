"""The outcome of a call for pages: its description and the parts of its answer."""

from discovery.calls.argument_check import ArgumentsRefusedError
from discovery.calls.call_view import Execution, describe_call
from discovery.calls.execution import NotFoundError
from discovery.calls.result_parts import ResultPart, list_parts
from discovery.models import Call


def outcome_of(call: Call) -> tuple[Execution, list[ResultPart]]:
    """Describe the call. A meta-tool is answered anew, and may find that a right is gone."""
    try:
        done = describe_call(call)
    except (ArgumentsRefusedError, NotFoundError) as refused:
        return Execution("failed", call.full_name, str(refused), str(call.pk)), []
    return done, list_parts(_as_result(done))


def _as_result(done: Execution) -> dict[str, object] | None:
    """Return the answer in the form of a server's. Meta-tools answer with any object."""
    result = done.result
    if result is None or "content" in result or "structured" in result:
        return result
    return {"structured": result}
