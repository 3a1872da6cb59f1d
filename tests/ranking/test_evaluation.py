"""Figures of a labelled set by `manage.py evaluate`."""

import json
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
    for name, rows in (("catalog", CATALOG), ("queries", queries)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(lines, "utf-8")

    call_command("evaluate", str(tmp_path), "--json")

    told = json.loads(capsys.readouterr().out)
    assert {"embedding", "sql", "ranking", "total", "help"} <= told["milliseconds"].keys()
