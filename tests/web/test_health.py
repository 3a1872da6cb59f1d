"""Liveness, readiness and metrics, and the alert rules and dashboard that ask for them."""

import json
import re
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
import yaml
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families
from pytest_django.fixtures import Settings

from acl.keys.lifecycle import create_key
from tests.access.people import People
from tests.docs import reference_page
from tests.docs.commands import PROJECT
from tests.web.conftest import client_with, new_key

AWAY = "198.51.100.7"
PROXIED = {"X-Forwarded-For": AWAY}


@pytest.mark.parametrize("path", ["/healthz", "/livez"])
def test_process_lives_without_asking_anyone(path: str) -> None:
    assert Client().get(path).status_code == 200  # this test has no database, so a query would fail


@pytest.mark.django_db
def test_readiness_names_each_part() -> None:
    answer = Client().get("/readyz").json()

    assert set(answer["parts"]) == {
        *("database", "disk", "migrations", "audit", "redis", "worker", "model", "embeddings"),
        *("replica", "cells", "processes"),
    }
    assert answer["ready"] is True
    assert answer["parts"]["redis"]["ok"] is True
    assert answer["parts"]["embeddings"]["pending"] == 0


@pytest.mark.django_db
def test_missing_model_and_redis_degrade_and_do_not_refuse(settings: Settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    response = Client().get("/readyz")

    assert response.status_code == 200
    assert {"redis", "worker"} <= set(response.json()["degraded"])


@pytest.mark.django_db
def test_missing_database_is_not_ready() -> None:
    with patch.object(connection, "cursor", side_effect=OperationalError):
        response = Client().get("/readyz")

    assert response.status_code == 503
    assert response["Retry-After"]
    assert response.json()["parts"]["database"]["ok"] is False


@pytest.mark.django_db
def test_stranger_sees_states_and_no_figures() -> None:
    parts = Client(REMOTE_ADDR=AWAY).get("/readyz").json()["parts"]

    assert all(set(part) == {"ok"} for part in parts.values())


@pytest.mark.django_db
def test_metrics_are_not_for_strangers() -> None:
    assert Client(REMOTE_ADDR=AWAY).get("/metrics").status_code == 401
    assert Client(headers=PROXIED).get("/metrics").status_code == 401


def test_metrics_are_for_admin_keys(people: People) -> None:
    User.objects.filter(pk=people.alice.pk).update(is_staff=True)
    _, admin = create_key(
        by=None, name="all", all_groups=True, scopes=["admin"], owner=people.alice
    )
    of_her_group = new_key(people.support, "admin", owner=people.alice)
    of_the_group, other = (new_key(people.support, scope) for scope in ("admin", "select"))

    assert client_with(admin).get("/metrics", REMOTE_ADDR=AWAY).status_code == 200
    assert client_with(of_her_group).get("/metrics", REMOTE_ADDR=AWAY).status_code == 403
    assert client_with(of_the_group).get("/metrics", REMOTE_ADDR=AWAY).status_code == 403
    assert client_with(other).get("/metrics", REMOTE_ADDR=AWAY).status_code == 403


def test_metrics_count_requests_by_route_and_selections_by_part(key: str) -> None:
    client = client_with(key)
    client.post("/api/v1/select", {"message": "hi", "user": "alice"}, "application/json")
    client.get("/api/v1/keys/123456")

    text = Client().get("/metrics").content.decode()

    assert 'pegboard_requests_total{method="POST",route="api-select",status="200"}' in text
    assert 'pegboard_selection_seconds_count{part="sql"}' in text
    assert "pegboard_embeddings_pending" in text
    assert not re.search(r"{[^}]*123456", text)  # in a label; a time may have these digits


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
