"""REL-7 in full: each misbehaving server for a minute beside a healthy one, as a table.

make soak                              # ten modes, a minute each
python -m lab.soak 5 crash flood     # other seconds, and only some modes
"""

import os
import sys
from dataclasses import replace

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.config.settings")

import django
from rich.console import Console
from rich.table import Table

django.setup()

from lab.bench.machine import describe_machine  # noqa: E402 - Django first
from lab.soak.soaking import GREEDY, MB, MODES, Pace, Soaked, soak  # noqa: E402


def main() -> None:
    """Run the healthy server alone, then beside each mode."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    modes = sys.argv[2:] or [*MODES, *GREEDY]
    console, pace = Console(width=140), Pace(seconds=seconds)
    console.print(describe_machine())
    table = _table(seconds)
    table.add_row(*_row("(alone)", soak(None, pace)))
    for mode in modes:
        console.print(f"{mode} …")
        # Kept small: the machine is not under test.
        limits = replace(pace.limits, memory_bytes=200 * MB, processes=30)
        paced = replace(pace, limits=limits) if mode in GREEDY else pace
        table.add_row(*_row(mode, soak(mode, paced)))
    console.print(table)


def _table(seconds: float) -> Table:
    table = Table(title=f"{seconds:g} s each; healthy and evil called 5 times a second")
    for name in ("mode", "healthy calls", "failed", "p95 ms"):
        table.add_column(name, justify="left" if name == "mode" else "right")
    for name in ("evil: what came of its calls", "breaker", "grown by MiB", "processes left"):
        table.add_column(name, justify="right" if name[0] in "gp" else "left")
    return table


def _row(mode: str, told: Soaked) -> tuple[str, ...]:
    came = ", ".join(f"{reason} {number}" for reason, number in told.evil.most_common())
    calls = len(told.healthy_ms) + told.healthy_failed
    return (
        *(mode, str(calls), str(told.healthy_failed), f"{told.p95():.1f}"),
        *(came, "rests" if told.rests else "closed", f"{told.grown:.0f}", str(told.left)),
    )


if __name__ == "__main__":
    main()
