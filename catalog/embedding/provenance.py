"""The provenance of the shipped, trained model."""

import json
from functools import cache
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
ADAPTER_FILE, PROVENANCE_FILE = _HERE / "choosing.safetensors", _HERE / "choosing.json"


@cache
def provenance() -> dict[str, Any]:
    """Return the adapter's name, the scale of its matches, and its training record.

    `discovery.select.ranking.scales` uses the scale. Data, settings and figures are for readers.
    """
    content: dict[str, Any] = json.loads(PROVENANCE_FILE.read_text("utf-8"))
    return content
