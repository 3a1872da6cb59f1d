"""Tokens and client secrets in the table of secrets, under names that nobody can set."""

import json
from typing import Any

from catalog.models import Integration, Secret
from catalog.models.secret import CLIENT, TOKEN
from catalog.servers.secrets.sealed_values import seal, unseal

__all__ = ["CLIENT", "TOKEN", "keep", "kept"]


def keep(integration: Integration, user_id: int | None, name: str, value: dict[str, Any]) -> None:
    """Seal it in place of the one before."""
    row = Secret(integration=integration, user_id=user_id, name=name)
    sealed = seal(json.dumps(value), purpose=row.purpose)
    Secret.objects.update_or_create(
        integration=integration,
        user_id=user_id,  # type: ignore[misc]
        name=name,
        defaults={"sealed": sealed},
    )


def kept(integration: Integration, user_id: int | None, name: str) -> dict[str, Any]:
    """What was kept; empty where nothing was."""
    row = Secret.objects.filter(integration=integration, user=user_id, name=name).first()
    if row is None:
        return {}
    value: dict[str, Any] = json.loads(unseal(bytes(row.sealed), purpose=row.purpose))
    return value
