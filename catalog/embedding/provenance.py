"""From what the trained model that comes along was made, and what was fitted to it."""

import json
from functools import cache
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
ADAPTER_FILE, PROVENANCE_FILE = _HERE / "choosing.safetensors", _HERE / "choosing.json"


@cache
def provenance() -> dict[str, Any]:
    """Return the adapter's name, the scale of its matches (`discovery.select.ranking.scales`), and
    for people the data, settings and figures of its training."""
    content: dict[str, Any] = json.loads(PROVENANCE_FILE.read_text("utf-8"))
    return content
