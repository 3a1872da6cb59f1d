"""Answers of the turns API."""

from typing import Any

from django.test import Client


def get(client: Client, path: str, *, status: int = 200) -> dict[str, Any]:
    response = client.get(f"/api/v1/{path}")
    assert response.status_code == status, response.content
    answer: dict[str, Any] = response.json()
    return answer
