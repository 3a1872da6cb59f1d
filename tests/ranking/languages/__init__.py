"""The same 40 requests in English and eight other languages, for the starter collection.

Each language has two styles: twenty short requests, and twenty by someone who tells a story first.
They were written in each language as people there would say it, before the map from the
multilingual model was fitted, and by one author. `relevant` is the right capability.
"""

from pathlib import Path

from acl.platform.strict_json import parse_json

LANGUAGES = ("de", "es", "fr", "it", "pl", "pt", "ja", "zh")
_FILE = Path(__file__).parent / "messages.jsonl"


def read_messages(language: str) -> list[tuple[str, str]]:
    """Return the messages in one language, each with the identifier of the right capability."""
    rows = map(parse_json, _FILE.read_text("utf-8").splitlines())
    return [(row[language], row["relevant"][0]) for row in rows]
