"""Storage of tokens and client secrets as sealed secrets under reserved names."""

import json
from typing import Any

from catalog.models import Integration, Secret
from catalog.models.secret import CLIENT, TOKEN
from catalog.servers.secrets.sealed_values import seal, unseal

__all__ = ["CLIENT", "TOKEN", "load_value", "store_value"]


def store_value(
    integration: Integration, user_id: int | None, name: str, value: dict[str, Any]
) -> None:
    """Seal and store a value, replacing the previous one."""
    row = Secret(integration=integration, user_id=user_id, name=name)
    sealed = seal(json.dumps(value), purpose=row.purpose)
    Secret.objects.update_or_create(
        integration=integration,
        user_id=user_id,  # type: ignore[misc]
        name=name,
        defaults={"sealed": sealed},
    )


def load_value(integration: Integration, user_id: int | None, name: str) -> dict[str, Any]:
    """Return the stored value, or {}."""
    row = Secret.objects.filter(integration=integration, user=user_id, name=name).first()
    if row is None:
        return {}
    value: dict[str, Any] = json.loads(unseal(bytes(row.sealed), purpose=row.purpose))
    return value
