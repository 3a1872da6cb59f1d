"""The benchmarks, printed as tables: `make bench`, or `python -m lab.bench 500 5000`.

Each size runs in its own process, on a database of its own, on embedded servers.
"""

import json
import subprocess
import sys
from typing import Any

from rich.console import Console
from rich.table import Table

from lab.bench.inside import servers
from lab.bench.machine import describe_machine

SIZES = (500, 5000, 50_000)
PARTS = ("embedding", "sql", "ranking", "rendering", "total")


def main() -> None:
    """Start the servers, measure every size, print the tables."""
    sizes = [int(size) for size in sys.argv[1:]] or SIZES
    console = Console(width=140)
    console.print(describe_machine())
    with servers() as opened:
        console.print(_encoders(_run("encoders", opened("encoders"))))
        for size in sizes:
            environment = opened(f"bench_{size}")
            console.print(_service(_run("selection", environment, "--size", str(size))))
            console.print(_http(size, _run("http", environment, "--size", str(size))))
            console.print(_lookups(size, _run("lookups", environment)))
            console.print(_rights(_run("rights", environment, "--size", str(size))))


def _run(module: str, environment: dict[str, str], *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", f"lab.bench.{module}", *arguments]
    output = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    figures: dict[str, Any] = json.loads(output.stdout)
    return figures


def _service(figures: dict[str, Any]) -> Table:
    usable = figures["usable"]
    title = f"{figures['size']:,} capabilities; callers may use {usable['p50']:,.0f} (median)"
    table = Table("ms, p50 / p95", *PARTS, "total : embedding", title=f"The service call. {title}")
    for intents in ("single", "multi"):
        for state in ("cold", "cached"):
            _add_rows(table, f"{intents}, {state}", figures[intents][state])
    _add_rows(table, "single, cold, 3,000 usable", figures["caller of 3,000"])
    return table


def _add_rows(table: Table, name: str, row: dict[str, Any]) -> None:
    ratio = "" if "cached" in name else f"{row['total/embedding']['p50']:.2f}"
    table.add_row(name, *(_pair(row[part]) for part in PARTS), ratio)
    table.add_row("  its CPU", *(_pair(row["cpu"][part]) for part in PARTS), "")


def _encoders(figures: dict[str, Any]) -> Table:
    table = Table(
        "provider",
        "wall ms, p50 / p95",
        "CPU ms, mean",
        "resident MB",
        title="Embedding a new message",
    )
    for name, row in figures.items():
        table.add_row(name, _pair(row["wall"]), f"{row['cpu']:.2f}", f"{row['resident']:.0f}")
    return table


def _http(size: int, figures: dict[str, Any]) -> Table:
    table = Table("ms", "p50 / p95", title=f"POST /api/v1/select over HTTP, {size:,} capabilities")
    for state in ("cold", "cached"):
        table.add_row(f"single, {state}", _pair(figures[state]))
    table.add_row("web process, resident MB", f"{figures['resident']:.0f}")
    return table


def _lookups(size: int, figures: dict[str, Any]) -> Table:
    table = Table("ms", "p50 / p95", title=f"A page of 50 by category, {size:,} capabilities")
    table.add_row("from the listing", _pair(figures["listing"]))
    table.add_row("by SQL alone", _pair(figures["sql"]))
    return table


def _rights(figures: dict[str, Any]) -> Table:
    title = "The selection's SQL with {spaces:,} spaces and {rules:,} rules, {size:,} capabilities"
    table = Table("ms, p50 / p95", "", "usable, p50", title=title.format(**figures))
    for name in ("without", "with"):
        table.add_row(name, _pair(figures[name]), f"{figures['usable'][name]['p50']:,.0f}")
    table.add_row("with : without", _pair(figures["ratio"]), "")
    oracle = figures["oracle"]
    asked = oracle["equal"] + oracle["different"]
    for name, row in figures["admins"].items():
        table.add_row(name, _pair(row), "")
    table.add_row("answers unlike the oracle's", f"{oracle['different']} of {asked:,}", "")
    return table


def _pair(spread: dict[str, float]) -> str:
    return f"{spread['p50']:.2f} / {spread['p95']:.2f}"


if __name__ == "__main__":
    main()
