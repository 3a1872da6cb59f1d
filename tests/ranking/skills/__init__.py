"""102 requests for the skills of the samples, six of them over 600 characters, and 160 by another
author, a third of them long.

Written for the measurement of weighings, without looking at scores. `skill` is the right skill's
name.
"""

from pathlib import Path

from acl.platform.strict_json import parse_json

_FOLDER = Path(__file__).parent


def read_skill_messages(file: str = "messages") -> list[tuple[str, str]]:
    """Return one author's messages, each with the right skill's name."""
    rows = map(parse_json, (_FOLDER / f"{file}.jsonl").read_text("utf-8").splitlines())
    return [(row["query"], row["skill"]) for row in rows]
