"""Latency of a list page: from the cached listing, and by SQL alone."""

import json
import time
from collections.abc import Callable
from typing import Any

import django

PAGE = 50
CALLS = 60


def main() -> None:
    """Print one JSON object with the figures of the world in the database."""
    django.setup()
    print(json.dumps(measure()))


def measure() -> dict[str, Any]:
    """Measure both ways alternately, for callers of all sizes."""
    from lab.bench.selection import spread

    ways: dict[str, Callable[[Any], object]] = {"listing": _by_listing, "sql": _by_sql}
    figures: dict[str, list[float]] = {name: [] for name in ways}
    callers = _callers()
    _by_listing(callers[0])  # fills the cache, once per change
    for caller in callers:
        for name, way in ways.items():
            started = time.perf_counter()
            way(caller)
            figures[name].append((time.perf_counter() - started) * 1000)
    return {name: spread(values) for name, values in figures.items()}


def _by_listing(caller: Any) -> object:
    from catalog.capabilities.catalog_queries import CapabilityFilters, list_capabilities

    return list_capabilities(caller=caller, filters=CapabilityFilters(category="api"), limit=PAGE)


def _by_sql(caller: Any) -> object:
    from catalog.access.my_tools import attach_readiness
    from catalog.models import Capability

    fitting = Capability.objects.usable_by(caller).filter(category="api")
    page = fitting.select_related("integration").order_by("full_name")[:PAGE]
    return fitting.count(), attach_readiness(caller, list(page))


def _callers() -> list[Any]:
    from django.contrib.auth.models import User

    from acl.rights.caller_lookup import Caller

    links = User.groups.through.objects.order_by("pk").values_list("user_id", "group_id")
    step = max(1, links.count() // CALLS)
    return [Caller(user, group) for user, group in links[::step][:CALLS]]


if __name__ == "__main__":
    main()
