"""Importing a source: capabilities go into the catalogue, other integrations become listings."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from django.contrib.auth.models import Group, User

from catalog.formats.descriptors import Defect, Loaded
from catalog.registration.register import RegistrationReport, register
from marketplace.listings.store import StoredListings, store_listings


@dataclass(frozen=True, slots=True)
class Imported:
    """Result of an import: registered capabilities, and stored listings."""

    registered: RegistrationReport
    listings: StoredListings

    @property
    def loaded(self) -> int:
        """Number of capabilities and listings of the source that are stored now."""
        return self.registered.loaded + self.listings.loaded

    @property
    def defects(self) -> list[Defect]:
        """Entries that could not be loaded, each with its reason."""
        return [*self.registered.defects, *self.listings.defects]


def import_loaded(
    *,
    loaded: Loaded,
    by: User | None,
    source: str,
    came_from: str = "",
    group: Group | None = None,
    prune: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Imported:
    """Store what a source contains. Integrations without capabilities become listings."""
    providing = {capability.integration for capability in loaded.capabilities}
    offered = [
        integration for integration in loaded.integrations if integration.slug not in providing
    ]
    provided = tuple(
        integration for integration in loaded.integrations if integration.slug in providing
    )
    registered = register(
        replace(loaded, integrations=provided),
        by=by,
        source=source,
        came_from=came_from,
        group=group,
        prune=prune,
        progress=progress,
    )
    return Imported(registered, store_listings(offered, source=source, came_from=came_from))
