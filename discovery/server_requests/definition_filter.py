"""The gate for what servers say of their resources and prompts.

Names and descriptions are read by models like those of tools, but nobody has reviewed them: an
entry that a review would have to hold back is left out of its list. A prompt's messages are
instructions, so they are judged as a skill's text. Contents of resources are data, like results of
tools, and pass as they are.
"""

from collections.abc import Iterator

from catalog.formats.descriptors import JSONObject
from catalog.trust.findings import requires_review
from catalog.trust.scanner import scan_definition, scan_text

_LISTS = {
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
# What a model reads of an entry. Addresses and icons are for programs.
_READ = ("name", "title", "description", "arguments")
_INSTRUCTIONS = "content"  # the scanner's name for texts that consist of instructions


class HeldBackError(Exception):
    """A text in the answer would need a review, and requests have none."""


def admit(method: str, result: JSONObject) -> JSONObject:
    """Return the result without entries that need a review. Raises HeldBackError."""
    if (name := _LISTS.get(method)) is not None:
        entries = result.get(name) or []
        return {**result, name: [entry for entry in entries if not _needs_review(entry)]}
    if method == "prompts/get" and any(
        requires_review(scan_text(text, _INSTRUCTIONS)) for text in _texts(result)
    ):
        raise HeldBackError("The prompt's text was held back: it looks like an attack on a model.")
    return result


def _needs_review(entry: JSONObject) -> bool:
    read = {name: entry[name] for name in _READ if entry.get(name)}
    return requires_review(scan_definition(read))


def _texts(result: JSONObject) -> Iterator[str]:
    yield str(result.get("description") or "")
    for message in result.get("messages") or []:
        content = message["content"]
        for block in content if isinstance(content, list) else [content]:
            if block.get("type") == "text":
                yield str(block["text"])
