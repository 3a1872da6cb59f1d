"""120 tasks of several steps for 60 servers of a real catalogue, with all tools that they take.

Written by one author, without looking at scores, for servers that a company of medium size could
have. `implied` are the tools that a message does not name, such as the search that finds an id;
`alt` are tools that would serve as well.
"""

from pathlib import Path
from typing import Any

from acl.platform.strict_json import parse_json

_FOLDER = Path(__file__).parent


def read_tasks() -> list[dict[str, Any]]:
    """Return the tasks: `query`, and the ids in `relevant` and `implied`."""
    lines = (_FOLDER / "messages.jsonl").read_text("utf-8").splitlines()
    return [parse_json(line) for line in lines]


def read_servers() -> frozenset[str]:
    """Return the names of the catalogue's servers that are installed."""
    return frozenset(parse_json((_FOLDER / "servers.json").read_text("utf-8")))
