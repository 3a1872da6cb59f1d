"""Texts that a model takes for instructions: a prompt's, and what a server wants to ask a model."""

from collections.abc import Iterable, Iterator

from catalog.formats.descriptors import JSONObject
from catalog.trust.findings import requires_review
from catalog.trust.scanner import INSTRUCTIONS, scan_text


def prompt_requires_review(opening: object, messages: Iterable[JSONObject]) -> bool:
    """Return True if a text, judged as a skill's, would have to be held back.

    `messages` are those of MCP, whose content is a block or a list of them.
    """
    texts = (text for text in (str(opening or ""), *_texts(messages)) if text)
    return any(requires_review(scan_text(text, INSTRUCTIONS)) for text in texts)


def _texts(messages: Iterable[JSONObject]) -> Iterator[str]:
    for message in messages:
        content = message["content"]
        for block in content if isinstance(content, list) else [content]:
            if block.get("type") == "text":
                yield str(block["text"])
