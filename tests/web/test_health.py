"""Liveness, readiness by component, and metrics."""

from unittest.mock import patch

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import Client
from pytest_django.fixtures import Settings

from acl.keys.lifecycle import create_key
from tests.access.people import People
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
    assert "123456" not in text
