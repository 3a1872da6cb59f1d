"""The same 40 requests in English and eight other languages, for the starter collection.

Each language has two styles: twenty short requests, and twenty by someone who tells a story first.
They were written in each language as people there would say it, before the map from the
multilingual model was fitted, and by one author. `relevant` is the right capability.

Beside them are small talk in sixteen languages, and tools described in four languages: name,
description, a message in that language, and one in English; and requests that delete, with others
about the same things.
"""

from pathlib import Path

from acl.platform.strict_json import parse_json

LANGUAGES = ("de", "es", "fr", "it", "pl", "pt", "ja", "zh")
_HERE = Path(__file__).parent
_FILE = _HERE / "messages.jsonl"
DELETIONS: dict[str, dict[str, list[str]]] = parse_json(
    (_HERE / "deletions.json").read_text("utf-8")
)
SMALL_TALK: dict[str, list[str]] = parse_json((_HERE / "small_talk.json").read_text("utf-8"))
FOREIGN_TOOLS: dict[str, list[tuple[str, str, str, str]]] = parse_json(
    (_HERE / "foreign_tools.json").read_text("utf-8")
)


def read_messages(language: str) -> list[tuple[str, str]]:
    """Return the messages in one language, each with the identifier of the right capability."""
    rows = map(parse_json, _FILE.read_text("utf-8").splitlines())
    return [(row[language], row["relevant"][0]) for row in rows]
