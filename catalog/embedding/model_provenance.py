"""The shipped model's provenance: its adapter's name, the scale of its matches, its training."""

import json
from functools import cache
from pathlib import Path
from typing import Any

PROVENANCE_FILE = Path(__file__).parent / "choosing.json"


@cache
def read_provenance() -> dict[str, Any]:
    """Return the adapter's name, the scale of its matches, and its training record.

    `discovery.select.ranking.scales` uses the scale. Data, settings and figures are for readers.
    """
    content: dict[str, Any] = json.loads(PROVENANCE_FILE.read_text("utf-8"))
    return content
