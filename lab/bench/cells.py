"""The cost of a cell: start, memory and latency of one program, with and without.

`python -m lab.bench.cells [ROUNDS]` alternates between both and prints medians. Then an OpenAPI
document is read in the process itself, in a child, and in a cell.
"""

import asyncio
import json
import resource
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil
from django.conf import settings
from rich.console import Console
from rich.table import Table

from lab.bench.machine import describe_machine

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "tests" / "cell" / "hostile_server.py"
ROUNDS, CALLS = 20, 200
MB = 1024 * 1024
Figures = dict[str, list[float]]


def main() -> None:
    """Measure both ways in turn, and print them."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        settings.PEGBOARD_DATA_DIR, settings.PEGBOARD_CELL = Path(folder), "required"
        figures: dict[bool, Figures] = {True: defaultdict(list), False: defaultdict(list)}
        for _ in range(rounds):
            for in_cell in (False, True):
                asyncio.run(_measure(figures[in_cell], in_cell=in_cell))
    console = Console(width=100)
    console.print(describe_machine())
    console.print(_table(figures))
    console.print(_document_table(rounds))


async def _measure(figures: Figures, *, in_cell: bool) -> None:
    from catalog.servers.cell.command import Cell
    from catalog.servers.client.mcp_session import Session
    from catalog.servers.client.targets import StdioServer

    beside = SERVER.with_name("escapes.py")
    python = Path(sys.executable).resolve()
    cell = Cell(readable=(SERVER, beside, python.parent.parent)) if in_cell else None
    session = Session(StdioServer((str(python), "-I", "-S", str(SERVER)), cell=cell))
    cpu, started = _child_cpu(), time.perf_counter()
    await session.open()
    await session.tools()
    figures["start, ms"].append((time.perf_counter() - started) * 1000)
    tree = psutil.Process().children(recursive=True)
    figures["processes"].append(len(tree))
    figures["memory (PSS), MB"].append(sum(one.memory_full_info().pss for one in tree) / MB)
    calls = []
    for _ in range(CALLS):
        began = time.perf_counter()
        await session.call("echo", {"text": "x"})
        calls.append((time.perf_counter() - began) * 1000)
    figures["call p50, ms"].append(statistics.median(calls))
    figures["call p95, ms"].append(statistics.quantiles(calls, n=20)[-1])
    await session.close()
    figures["CPU of start, calls and end, ms"].append((_child_cpu() - cpu) * 1000)


def _document_table(rounds: int) -> Table:
    from catalog.servers.client.document_readers import read_api_text

    table = Table("an OpenAPI document", "read", "time, ms", "CPU, ms")
    ways = (("here", "off"), ("in a child", "child"), ("in a cell", "required"))
    for operations in (5, 500):
        for way, mode in ways:
            figures = []
            for at in range(rounds + 1):
                # Another document each time: what was read once is kept.
                text = json.dumps(_document(operations, f"{way} {at}"))
                cpu, began = _cpu(), time.perf_counter()
                with _mode(mode):
                    read_api_text(text, file="api")
                figures.append((time.perf_counter() - began, _cpu() - cpu))
            # The first one loads the parser, or makes the process's first cell.
            taken, used = (statistics.median(one) * 1000 for one in zip(*figures[1:], strict=True))
            table.add_row(f"of {operations} operations", way, f"{taken:.0f}", f"{used:.0f}")
    return table


@contextmanager
def _mode(mode: str) -> Iterator[None]:
    """Set how documents are read; a child is what stands for a cell where none can be made."""
    settings.PEGBOARD_CELL = "preferred" if mode == "child" else mode
    with ExitStack() as stack:
        if mode == "child":
            found = "catalog.servers.client.reader_process.cell_problem"
            stack.enter_context(patch(found, lambda: "none for this row"))
        yield


def _document(operations: int, title: str) -> dict[str, Any]:
    wanted = {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}
    body = {"content": {"application/json": {"schema": wanted}}}
    paths = {
        f"/things/{at}": {"post": {"summary": f"Change thing {at}", "requestBody": body}}
        for at in range(operations)
    }
    about = {"title": title, "version": "1"}
    return {
        "openapi": "3.1.0",
        "info": about,
        "servers": [{"url": "https://a.example"}],
        "paths": paths,
    }


def _cpu() -> float:
    return time.process_time() + _child_cpu()


def _child_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _table(figures: dict[bool, Figures]) -> Table:
    table = Table("median of each start", "without", "in a cell", "ratio")
    for name in figures[True]:
        without, within = (statistics.median(figures[kind][name]) for kind in (False, True))
        table.add_row(name, f"{without:.2f}", f"{within:.2f}", f"{within / without:.2f}")
    return table


if __name__ == "__main__":
    main()
