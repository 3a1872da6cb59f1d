"""Assignment of inferred categories, a server at a time, after its tools were stored.

Statements name their columns, since a migration uses them on tables of any later release.
"""

from collections.abc import Collection
from itertools import groupby

from django.db import transaction
from django.db.models.expressions import RawSQL

from catalog.categories.server_categories import ServerTexts, ToolTexts, categorize
from catalog.graph.stored_links import refresh_links
from catalog.locks import lock_catalog
from catalog.models import Capability
from catalog.registration.scratch_catalog import is_scratch
from catalog.trust.gate import marked_as_reviewed

_TEXTS = ("integration__slug", "integration__title", "integration__description")


@transaction.atomic
def assign_categories(integrations: Collection[int]) -> int:
    """Categorize the integrations' tools whose category is inferred; return how many changed.

    The embedded text has declared categories only, so nothing is embedded again.
    """
    lock_catalog()
    changed: dict[str, list[int]] = {}
    rows = Capability.objects.filter(integration__in=list(integrations), category_inferred=True)
    if not is_scratch():
        # The gate's mark vouches for a whole row, so a row changed past it keeps its category.
        rows = rows.filter(reviewed=RawSQL("catalog_texts_digest(catalog_capability)", ()))
    found = rows.order_by("integration_id", "pk").values_list(
        *_TEXTS, "pk", "category", "action", "description"
    )
    for texts, some in groupby(found, key=lambda row: row[:3]):
        tools = list(some)
        names = [ToolTexts(action, description) for *_, action, description in tools]
        for tool, category in zip(tools, categorize(ServerTexts(*texts), names), strict=True):
            if tool[4] != category:
                changed.setdefault(category, []).append(tool[3])
    with marked_as_reviewed():
        for category, keys in changed.items():
            Capability.objects.filter(pk__in=keys).update(category=category)
    keys = [key for some in changed.values() for key in some]
    refresh_links(keys)
    return len(keys)
