"""The gate for what servers say of their resources and prompts.

Names and descriptions are read by models like those of tools, but nobody has reviewed them: an
entry that a review would have to hold back is left out of its list. A prompt's messages are
instructions, so they are judged as a skill's text. Contents of resources are data, like results of
tools, and pass as they are.
"""

from catalog.formats.descriptors import JSONObject
from catalog.trust.findings import requires_review
from catalog.trust.prompt_texts import prompt_requires_review
from catalog.trust.scanner import scan_definition
from discovery.calls.question_gate import admit_required

_LISTS = {
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
# What a model reads of an entry. Addresses and icons are for programs.
_READ = ("name", "title", "description", "arguments")


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
        return {**result, name: [entry for entry in entries if not _needs_review(entry)]}
    if method == "prompts/get" and prompt_requires_review(
        result.get("description"), result.get("messages") or []
    ):
        raise HeldBackError("The prompt's text was held back: it looks like an attack on a model.")
    return result


def _needs_review(entry: JSONObject) -> bool:
    read = {name: entry[name] for name in _READ if entry.get(name)}
    return requires_review(scan_definition(read))
