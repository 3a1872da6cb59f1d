"""Tools that Pegboard answers itself. The gateway registers its answer when the app loads.

Meta-tools execute calls, so calls cannot import them.
"""

from collections.abc import Callable

from acl.rights.caller_lookup import Caller
from catalog.formats.descriptors import JSONObject

Answer = Callable[[Caller, str, JSONObject], JSONObject]

_answers: list[Answer] = []


def register_answer(answer: Answer) -> None:
    """Register the function that answers calls of Pegboard's own tools."""
    _answers[:] = [answer]


def answer(caller: Caller, name: str, arguments: JSONObject) -> JSONObject:
    """Return the current answer of one of Pegboard's own tools to this caller."""
    return _answers[0](caller, name, arguments)
