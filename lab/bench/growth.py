"""CPU time of reading and rendering hostile texts, and its growth when they double in length.

    python -m lab.bench.growth

Needs no server and no database: selection over HTTP is measured by `lab.bench.http`.
"""

import time
from collections.abc import Callable
from statistics import median

from rich.console import Console
from rich.table import Table

from acl.platform.strict_json import write_json
from acl.visible_text.canonical_json import render_arguments
from acl.visible_text.pieces import show_text
from acl.web.markdown import safe_html
from catalog.lexical import query_vector
from catalog.schemas import compact, micro
from catalog.trust.scanner import scan_text
from catalog.trust.text_differences import compare
from discovery.calls.execution import near_names
from discovery.select._glossary import add_english
from discovery.select.judgements import chance_of_small_talk
from discovery.select.message import correct, split

SIZES = (1_000, 2_000, 4_000, 8_000)
PUMPS = {
    "one letter": "q", "separators": "a_", "clauses": ",and", "requests": "send a mail and then ",
    "brackets": "[{(", "combining marks": "\u0301", "Chinese": "数据", "joined emoji": "👩\u200d",
    "Cyrillic": "\u0430", "Punycode": "é xn--80ak6aa92e ", "exact names": "files__read ",
    "quotes": '"', "table rows": "|a|b|\n", "emphasis": "*a_",
}  # fmt: skip
NAMES = [f"files{number}__read_all" for number in range(1_000)]


def edges() -> dict[str, Callable[[str], object]]:
    """Return each function that reads untrusted text, by its purpose."""
    return {
        "clauses": split,
        "words": query_vector,
        "spelling": correct,
        "glossary": lambda text: add_english([text]),
        "small talk": lambda text: chance_of_small_talk(text, None),
        "near names": lambda text: near_names(text, NAMES),
        "scanning": lambda text: scan_text(text, "description"),
        "visible text": show_text,
        "arguments": lambda text: render_arguments(write_json({"text": text, text: [text]})),
        "differences": lambda text: compare({"description": text}, {"description": text[1:]}),
        "schema, compact": lambda text: compact(_schema(text)),
        "schema, micro": lambda text: micro(_schema(text)),
        "Markdown": safe_html,
        "Markdown, wide table": lambda text: safe_html(_wide(len(text))),
    }


def main() -> None:
    """Print for each function the text that costs most at the largest size."""
    table = Table("edge", "worst text", *(f"{size:,}" for size in SIZES), "growth of the last")
    for name, edge in edges().items():
        rows = {pump: [_cost(edge, text, size) for size in SIZES] for pump, text in PUMPS.items()}
        pump, row = max(rows.items(), key=lambda each: each[1][-1])
        ratio = row[-1] / max(row[-2], 1e-6)
        table.add_row(name, pump, *(f"{cost:.1f}" for cost in row), f"{ratio:.1f}")
    Console(width=140).print(table)


def _cost(edge: Callable[[str], object], pump: str, size: int) -> float:
    """Return the CPU milliseconds of this thread, median of three."""
    text = (pump * size)[:size]
    costs = []
    for _ in range(3):
        started = time.thread_time()
        edge(text)
        costs.append((time.thread_time() - started) * 1000)
    return median(costs)


def _schema(text: str) -> dict[str, object]:
    part = {"type": "string", "description": text, "default": text}
    return {"type": "object", "properties": {text[:60]: part}, "required": [text[:60]]}


def _wide(size: int) -> str:
    columns = size // 7
    return "|a" * columns + "|\n" + "|-" * columns + "|\n" + "|\n" * columns


if __name__ == "__main__":
    main()
