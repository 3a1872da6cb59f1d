"""Figures of a labelled set by `manage.py evaluate`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

CATALOG = [
    {"id": "mail/send", "name": "send_email", "description": "Sends an email to a person."},
    {"id": "weather/now", "name": "get_weather", "description": "Tells the weather of a city."},
]
QUERIES = [
    {"qid": "1", "query": "send an email to Anna", "relevant": ["mail/send"]},
    {"qid": "2", "query": "knit a scarf of blue wool for the winter", "relevant": ["weather/now"]},
]


@pytest.mark.django_db
@pytest.mark.parametrize("queries", [QUERIES, QUERIES[::-1]], ids=["fits first", "fits last"])
def test_times_are_of_all_parts_that_any_answer_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], queries: list[dict[str, Any]]
) -> None:
    """Help is looked for only where nothing fits."""
    _write_set(tmp_path, queries)

    call_command("evaluate", str(tmp_path), "--json")

    told = json.loads(capsys.readouterr().out)
    assert {"embedding", "sql", "ranking", "total", "help"} <= told["milliseconds"].keys()


@pytest.mark.django_db
def test_folder_of_sets_has_the_figures_of_each_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    _write_set(first, QUERIES)
    _write_set(second, [*QUERIES[::-1], {**QUERIES[0], "qid": "3", "lang": "en", "relevant": []}])
    (tmp_path / "catalogue only").mkdir()

    both = _evaluate(tmp_path, capsys)

    for folder in (first, second):
        alone = _evaluate(folder, capsys)
        assert {**alone, "milliseconds": ...} == {**both[folder.name], "milliseconds": ...}
    assert list(both["second"]["selection"]) == ["all", "in en", "1 wish", "no wish"]
    assert both["first"]["selection"]["all"]["nothing"] == 0.5

    call_command("evaluate", str(tmp_path))

    table = capsys.readouterr().out
    assert all(name in table for name in ("first", "second", "mean"))


def _evaluate(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    call_command("evaluate", str(folder), "--json")
    figures: dict[str, Any] = json.loads(capsys.readouterr().out)
    return figures


def _write_set(folder: Path, queries: Sequence[dict[str, Any]]) -> None:
    folder.mkdir(exist_ok=True)
    for name, rows in (("catalog", CATALOG), ("queries", queries)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, "utf-8")
