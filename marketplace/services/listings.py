"""Storing what a source offers for installation."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from django.db import transaction

from catalog.descriptors import Defect, IntegrationDescriptor
from catalog.storing import overwrite
from marketplace.models import Listing


@dataclass(slots=True)
class StoredListings:
    """How many listings were created, changed and left alone, and which could not be stored."""

    created: int = 0
    changed: int = 0
    unchanged: int = 0
    defects: list[Defect] = field(default_factory=list)

    @property
    def loaded(self) -> int:
        """Listings of this source that are in the marketplace now."""
        return self.created + self.changed + self.unchanged


@transaction.atomic
def store_listings(integrations: Iterable[IntegrationDescriptor], *, source: str) -> StoredListings:
    """Write the listings that are new or differ; what another source offers stays as it is."""
    wanted = {one.slug: one for one in integrations}
    rows = {row.slug: row for row in Listing.objects.filter(slug__in=wanted).select_for_update()}
    report = StoredListings()
    new: list[Listing] = []
    changed: list[Listing] = []
    for slug, descriptor in wanted.items():
        row = rows.get(slug)
        listing = Listing(
            pk=row.pk if row else None, slug=slug, source=source, **_values(descriptor)
        )
        if row is None:
            new.append(listing)
        elif row.source != source:
            report.defects.append(_taken(descriptor, row))
        elif any(getattr(row, name) != getattr(listing, name) for name in _COMPARED):
            changed.append(listing)
        else:
            report.unchanged += 1
    Listing.objects.bulk_create(new)
    overwrite(Listing, changed, [*_COMPARED, "updated_at"])
    report.created, report.changed = len(new), len(changed)
    return report


def _taken(descriptor: IntegrationDescriptor, row: Listing) -> Defect:
    file = str(descriptor.source_ref.get("file", ""))
    return Defect(file, "name", f"the listing {row.slug} is offered by {row.source} already")


def _values(descriptor: IntegrationDescriptor) -> dict[str, Any]:
    values = asdict(descriptor)
    del values["slug"]
    return values | {
        "command": list(descriptor.command),
        "required_secrets": list(descriptor.required_secrets),
        "details": values.pop("source_ref"),
    }


_COMPARED = list(_values(IntegrationDescriptor(slug="", kind="mcp", title="")))
