"""Looks through a definition for what does not belong into a description.

It reads what the model would, every text at every place, and says what it found; whether that keeps
a tool out is decided elsewhere.
"""

from collections.abc import Iterator

from catalog.descriptors import JSONObject
from catalog.trust.findings import Finding, worst_first
from catalog.trust.hidden import find_hidden


def scan_definition(definition: JSONObject) -> list[Finding]:
    """What a person should know about it, the worst first."""
    found: list[Finding] = []
    for where, text in texts_of(definition):
        found += find_hidden(text, where)
    return worst_first(found)


def texts_of(definition: JSONObject) -> Iterator[tuple[str, str]]:
    """Every text with its place, keys too. Walks without recursion, in the order of the
    definition."""
    waiting: list[tuple[str, object]] = [("", definition)]
    while waiting:
        where, value = waiting.pop()
        if isinstance(value, str):
            yield where, value
        elif isinstance(value, dict):
            for key in value:
                yield f"{where}.(name)".lstrip("."), str(key)
            inside = [(f"{where}.{key}".lstrip("."), one) for key, one in value.items()]
            waiting += reversed(inside)
        elif isinstance(value, list):
            waiting += reversed([(f"{where}[{at}]", one) for at, one in enumerate(value)])
