"""Document frequencies of terms in a public collection of tools, for `catalog/lexical.py`.

    python -m lab.bench.build_background ../shared/eval/toucan-mcp-catalog

Source: the Toucan MCP catalogue (github.com/TheAgentArk/Toucan at a1976de, MIT, (c) 2025 Agent
Ark), 5,191 tools of MCP servers. Only numbers by hashed term are kept: no name and no text of any
tool.
"""

import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np

from catalog.lexical import MAX_RANKED_CHARACTERS, terms

TARGET = Path(__file__).parents[2] / "catalog" / "word_frequencies.npz"


def build(collection: Path, target: Path) -> None:
    counts: Counter[int] = Counter()
    lines = (collection / "catalog.jsonl").read_text("utf-8").splitlines()
    for line in lines:
        counts.update(set(terms(_text(json.loads(line)))))
    # Terms that occur once are half of the table, and hardly differ from unknown ones.
    kept = sorted((index, count) for index, count in counts.items() if count > 1)
    np.savez_compressed(
        target,
        terms=np.array([index for index, _ in kept], np.uint32),
        counts=np.array([count for _, count in kept], np.uint16),
        documents=np.array(len(lines)),
    )


def _text(tool: dict) -> str:
    parameters = ((tool["input_schema"] or {}).get("properties") or {}).keys()
    parts = (tool["name"], tool["server"] or "", tool["description"], *tool["tags"], *parameters)
    return " ".join(parts)[:MAX_RANKED_CHARACTERS]


if __name__ == "__main__":
    build(Path(sys.argv[1]), TARGET)
