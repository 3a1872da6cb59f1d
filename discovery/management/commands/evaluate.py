"""Scores the selector on a labelled set, or on each set of a folder."""

import json
import statistics
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import Progress
from rich.table import Column, Table

from acl.platform.database_connections import PooledError
from discovery.evaluation import BadSet, Evaluation, evaluate, find_sets

# Columns of the table over several sets.
_RANKED = ("recall@1", "recall@5", "ndcg@10", "complete@10")
_SENT = ("recall", "precision", "length", "nothing", "left alone")


class Command(BaseCommand):
    help = (
        "Score the selector on a folder with catalog.jsonl and queries.jsonl, or with such folders."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument("--limit", type=int, help="use only the first N messages")
        parser.add_argument("--run", type=Path, help="write the rankings here, for another scorer")
        parser.add_argument("--json", action="store_true", help="for scripts")

    def handle(self, *args: Any, **options: Any) -> None:
        console = Console(stderr=True, quiet=options["json"])
        try:
            reports = {}
            for name, folder in find_sets(options["folder"]).items():
                with Progress(console=console) as bars:
                    reports[name] = evaluate(
                        folder=folder, limit=options["limit"], progress=_Bars(bars)
                    )
        except (BadSet, PooledError) as problem:
            raise CommandError(str(problem)) from problem
        runs = {name: report.run for name, report in reports.items()}
        figures = {
            name: {key: part for key, part in asdict(report).items() if key != "run"}
            for name, report in reports.items()
        }
        (only, *others) = reports
        if options["run"]:
            options["run"].write_text(json.dumps(runs if others else runs[only]), encoding="utf-8")
        if options["json"]:
            self.stdout.write(json.dumps(figures if others else figures[only], indent=1))
        elif others:
            Console().print(_table("Ranking, and what is sent", _by_set(reports), 100))
        else:
            _show(reports[only], Console())


def _by_set(reports: dict[str, Evaluation]) -> dict[str, dict[str, float]]:
    """Return the measures of each set over all of its messages, and the means of the sets."""
    rows = {}
    for name, report in reports.items():
        ranked, sent = report.ranking["all"], report.selection["all"]
        rows[name] = {key: ranked[key] for key in _RANKED if key in ranked}
        rows[name] |= {f"sent: {key}": sent[key] for key in _SENT if key in sent}
    columns = dict.fromkeys(key for row in rows.values() for key in row)
    means = {
        key: statistics.fmean(row[key] for row in rows.values() if key in row) for key in columns
    }
    return rows | {"mean": means}


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
    table = Table(Column(no_wrap=True), *names, title=title)
    for label, row in rows.items():
        table.add_row(
            label,
            *(
                ""
                if name not in row
                else f"{row[name] * (1 if name.endswith('length') else scale):.1f}"
                for name in names
            ),
        )
    return table
