"""Tools that Pegboard answers itself: the gateway registers its answer when the app is loaded.

The meta-tools execute calls, so calls cannot import them.
"""

from collections.abc import Callable

from acl.rights.caller import Caller
from catalog.formats.descriptors import JSONObject

Answer = Callable[[Caller, str, JSONObject], JSONObject]

_answers: list[Answer] = []


def register_answer(answer: Answer) -> None:
    """Set the function that answers calls of Pegboard's own tools."""
    _answers[:] = [answer]


def answer(caller: Caller, name: str, arguments: JSONObject) -> JSONObject:
    """Return the answer of the tool of that name, for this caller, at this moment."""
    return _answers[0](caller, name, arguments)
