"""All routes of the product, from the URLconf."""

import re
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.urls import URLPattern, URLResolver, get_resolver

from tests.hostile.world import World

_PLACE = re.compile(r"<(?:\w+:)?(\w+)>")


def all_routes() -> list[str]:
    """Return the full pattern of each route, such as "api/v1/keys/<int:pk>"."""
    return list(dict.fromkeys(_below(get_resolver().url_patterns)))


def _below(patterns: list[URLPattern | URLResolver], at: str = "") -> Iterator[str]:
    for pattern in patterns:
        here = at + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _below(pattern.url_patterns, here)
        else:
            yield here


def path_of(route: str, fill: dict[str, Any]) -> str:
    """Return the path with its parameters filled in."""
    return "/" + _PLACE.sub(lambda place: str(fill[place.group(1)]), route)


def places_of_admin(route: str, world: World) -> dict[str, str]:
    """Return the parameters of a route of Django's admin: a row of its table."""
    app, _, rest = route.removeprefix("admin/").partition("/")
    model = rest.partition("/")[0]
    try:
        row = apps.get_model(app, model)._default_manager.order_by("pk").first()
    except LookupError:
        return {"content_type_id": "4", "object_id": str(world.alice.pk)}
    pk = str(row.pk) if row else "1"
    return {"object_id": pk, "id": pk}
