"""102 requests for the skills of the samples, six of them over 600 characters.

Written for the measurement of weighings, without looking at scores, by one author. `skill` is the
right skill's name.
"""

from pathlib import Path

from acl.platform.strict_json import parse_json

_FILE = Path(__file__).parent / "messages.jsonl"


def read_skill_messages() -> list[tuple[str, str]]:
    """Return the messages, each with the right skill's name."""
    rows = map(parse_json, _FILE.read_text("utf-8").splitlines())
    return [(row["query"], row["skill"]) for row in rows]
