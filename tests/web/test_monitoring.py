"""The alert rules and the dashboard ask for metrics, labels and checks that exist."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from tests.docs import reference_page
from tests.docs.commands import PROJECT
from tests.web.conftest import client_with

FOLDER = PROJECT / "docker" / "monitoring"
RULES: list[dict[str, Any]] = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"]
DASHBOARD: dict[str, Any] = json.loads((FOLDER / "grafana.json").read_text())
GIVEN_BY_PROMETHEUS = {"le", "job"}
ROW = re.compile(r"^\| `(pegboard_[\w{}]+)` \| (\w+) \| ([\w, ]*) \|", re.M)
_SELECTOR = re.compile(r"(pegboard_\w+)(?:\{([^}]*)\})?")


def expressions() -> Iterator[tuple[str, str]]:
    for group in RULES:
        yield from ((rule["alert"], rule["expr"]) for rule in group["rules"])
    for panel in DASHBOARD["panels"]:
        yield from ((panel["title"], target["expr"]) for target in panel["targets"])


def metrics() -> dict[str, set[str]]:
    """Return the metrics of the code, in the names that Prometheus gives them, and their labels."""
    rows = ROW.findall(reference_page.render_reference())
    return {
        f"{name.format(state=state)}{suffix}": {each for each in labels.split(", ") if each}
        for name, kind, labels in rows
        for state in ("embedded", "pending", "failed")
        for suffix in (("_bucket", "_sum", "_count") if kind == "histogram" else ("",))
    }


def problems(expression: str) -> list[str]:
    """Return what an expression asks for and no metric has."""
    existing, labels, unknown = metrics(), set(GIVEN_BY_PROMETHEUS), []
    for name, matchers in _SELECTOR.findall(expression):
        if name not in existing:
            unknown.append(name)
            continue
        labels |= existing[name]
        matched = set(re.findall(r"(\w+)\s*[=!]", matchers))
        unknown += sorted(matched - existing[name] - GIVEN_BY_PROMETHEUS)
    grouped = ", ".join(re.findall(r"by \(([^)]*)\)", expression))
    return unknown + sorted(set(filter(None, grouped.split(", "))) - labels)


@pytest.mark.parametrize(("title", "expression"), list(expressions()))
def test_what_is_asked_for_exists(title: str, expression: str) -> None:
    assert problems(expression) == [], title
    for opening, closing in ("()", "{}", "[]"):
        assert expression.count(opening) == expression.count(closing)


@pytest.mark.parametrize(("title", "expression"), list(expressions()))
def test_each_misspelt_name_is_found(title: str, expression: str) -> None:
    names = {name for name, _matchers in _SELECTOR.findall(expression)}
    grouped = re.findall(r"by \(([\w, ]*)\)", expression)

    for name in names:
        assert problems(expression.replace(name, f"{name}x")), (title, name)
    for labels in grouped:
        assert problems(expression.replace(f"by ({labels})", f"by ({labels}x)")), title


def test_every_rule_tells_what_to_do_and_every_panel_has_its_place() -> None:
    for group in RULES:
        for rule in group["rules"]:
            assert rule["labels"]["severity"] in {"warning", "critical"}
            assert {"summary", "description"} == rule["annotations"].keys()
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in DASHBOARD["panels"]]
    assert len(set(places)) == len(places)
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(places)


def test_server_really_shows_them(key: str) -> None:
    fields = {"message": "hi", "user": "alice"}
    client_with(key).post("/api/v1/select", fields, "application/json")

    text = Client().get("/metrics").content.decode()

    families = text_string_to_metric_families(text)
    samples = {sample.name for family in families for sample in family.samples}
    names = {name for _title, words in expressions() for name, _ in _SELECTOR.findall(words)}
    assert names - samples <= {"pegboard_replica_reads_total"}  # without a replica
    assert 'pegboard_check_failing{check="disk"} 0.0' in text
