"""Nodes of Postgres' query plans, and which tables a plan may scan once only."""

from collections.abc import Iterator
from typing import Any

WORKED_OUT_ONCE = {
    "auth_user",
    "catalog_rule",
    "catalog_integration",
    "catalog_integrationuserpermission",
    "catalog_integrationgrouppermission",
    "catalog_capabilityuserpermission",
    "catalog_capabilitygrouppermission",
}


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)


def is_asked_for_each_row(node: dict[str, Any]) -> bool:
    return str(node.get("Subplan Name", "")).startswith("SubPlan") and node["Actual Loops"] > 1
