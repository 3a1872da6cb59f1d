"""From what the trained model that comes along was made, and what was fitted to it."""

import json
from functools import cache
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
ADAPTER_FILE, PROVENANCE_FILE = _HERE / "choosing.safetensors", _HERE / "choosing.json"


@cache
def provenance() -> dict[str, Any]:
    """`adapter` is its name, `scale` how its matches become relevance (`discovery.select.ranking.scales`),
    the rest is for people: data, settings, figures."""
    content: dict[str, Any] = json.loads(PROVENANCE_FILE.read_text("utf-8"))
    return content
