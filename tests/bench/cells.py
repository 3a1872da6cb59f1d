"""The cost of a cell: start, memory and latency of one program, with and without.

`python -m tests.bench.cells [ROUNDS]` alternates between both and prints medians.
"""

import asyncio
import resource
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import psutil
from django.conf import settings
from rich.console import Console
from rich.table import Table

from tests.bench.machine import describe_machine

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


async def _measure(figures: Figures, *, in_cell: bool) -> None:
    from catalog.servers.cell.cell_plan import Cell
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
