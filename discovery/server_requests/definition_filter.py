"""The gate for what servers say of their resources and prompts.

Names and descriptions are read by models like those of tools, but nobody has reviewed them: an
entry that a review would have to hold back is left out of its list, and so is a completion. A
prompt's messages are instructions, so they are judged as a skill's text. Contents of resources are
data, like results of tools, and pass as they are.
"""

from catalog.formats.descriptors import JSONObject
from catalog.trust.foreign_texts import must_be_held_back
from discovery.calls.question_gate import admit_required

_LISTS = {
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}


class HeldBackError(Exception):
    """A text in the answer would need a review, and requests have none."""


def admit(method: str, result: JSONObject, capabilities: frozenset[str]) -> JSONObject:
    """Return the result without entries that need a review.

    Raises HeldBackError, and CannotAskError if the client cannot be asked what the server asks. The
    address says which server that is.
    """
    if result.get("resultType") == "input_required":
        return admit_required(result, capabilities)
    if (name := _LISTS.get(method)) is not None:
        entries = result.get(name) or []
        return {**result, name: [entry for entry in entries if not must_be_held_back(entry)]}
    if method == "completion/complete":
        return _admit_completion(result)
    if method == "prompts/get" and must_be_held_back(result, is_prompt=True):
        raise HeldBackError("The prompt's text was held back: it looks like an attack on a model.")
    return result


def _admit_completion(result: JSONObject) -> JSONObject:
    completion = result.get("completion")
    values = completion.get("values") if isinstance(completion, dict) else None
    if not isinstance(completion, dict) or not isinstance(values, list):
        return result
    kept = [value for value in values if not must_be_held_back(value)]
    return {**result, "completion": {**completion, "values": kept}}


def admit_error(error: JSONObject | None) -> JSONObject | None:
    """Return a server's error; None for one that must be held back."""
    return None if must_be_held_back(error, is_prompt=True) else error
