"""Scores the selector on a labelled set."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from acl.platform.pooled_connections import PooledError
from discovery.evaluation.labelled_run import Evaluation, evaluate
from discovery.evaluation.labelled_sets import BadSet


class Command(BaseCommand):
    help = "Score the selector on a folder with catalog.jsonl and queries.jsonl."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument("--limit", type=int, help="use only the first N messages")
        parser.add_argument("--run", type=Path, help="write the rankings here, for another scorer")
        parser.add_argument("--json", action="store_true", help="for scripts")

    def handle(self, *args: Any, **options: Any) -> None:
        console = Console(stderr=True, quiet=options["json"])
        try:
            with Progress(console=console) as bars:
                report = evaluate(
                    folder=options["folder"], limit=options["limit"], progress=_Bars(bars)
                )
        except (BadSet, PooledError) as problem:
            raise CommandError(str(problem)) from problem
        if options["run"]:
            options["run"].write_text(json.dumps(report.run), encoding="utf-8")
        if options["json"]:
            figures = {name: part for name, part in asdict(report).items() if name != "run"}
            self.stdout.write(json.dumps(figures, indent=1))
        else:
            _show(report, Console())


class _Bars:
    """Progress bars, one for each step, created on its first report."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._steps: dict[str, Any] = {}

    def __call__(self, step: str, done: int, total: int) -> None:
        if step not in self._steps:
            self._steps[step] = self._bars.add_task(step, total=total)
        self._bars.update(self._steps[step], completed=done, total=total)


def _show(report: Evaluation, console: Console) -> None:
    console.print(f"{report.messages} messages over {report.capabilities} capabilities")
    console.print(_table("Ranking, before the cut (in percent)", report.ranking, 100))
    console.print(_table("What select returns (in percent, and its length)", report.selection, 100))
    console.print(_table("Milliseconds", report.milliseconds, 1))


def _table(title: str, rows: dict[str, dict[str, float]], scale: float) -> Table:
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    table = Table("", *names, title=title)
    for label, row in rows.items():
        table.add_row(label, *(_figure(name, row, scale) for name in names))
    return table


def _figure(name: str, row: dict[str, float], scale: float) -> str:
    if name not in row:
        return ""
    return f"{row[name] * (1 if name == 'length' else scale):.1f}"
