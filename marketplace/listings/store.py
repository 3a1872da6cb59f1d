"""Storing offers of a source as listings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils.translation import gettext_noop

from catalog.formats.descriptors import Defect, IntegrationDescriptor, Renaming, column_values
from catalog.formats.icon_choice import icon_address
from catalog.formats.names import slug_for
from catalog.formats.readers.server_json import is_stable
from catalog.icons import assign_icons
from catalog.registration.descriptor_rows import file_of, overwrite
from catalog.registration.integration_identity import (
    DescribedIntegration,
    describe_integration,
    find_target,
)
from marketplace.listings.reviews import scan_listings
from marketplace.listings.search import describe_listings
from marketplace.models import Listing, ListingFile, ListingVersion, Source
from marketplace.offers.offer import Offer, needs_of, offer_of

_TITLES = {
    "starter": gettext_noop("Starter collection"),
    "import": gettext_noop("Loaded by a command"),
    "added": gettext_noop("Added by an admin"),
}


@dataclass(slots=True)
class StoredListings:
    """Number of created, changed, unchanged and held listings, and the defects of the others."""

    created: int = 0
    changed: int = 0
    unchanged: int = 0
    held: int = 0
    defects: list[Defect] = field(default_factory=list)

    @property
    def loaded(self) -> int:
        """Number of listings of this source that are stored now."""
        return self.created + self.changed + self.unchanged

    def add(self, batch: "StoredListings") -> None:
        """Add the counts of another batch of the same source."""
        self.created += batch.created
        self.changed += batch.changed
        self.unchanged += batch.unchanged
        self.held += batch.held
        self.defects += batch.defects


def store_listings(
    integrations: Iterable[IntegrationDescriptor], *, source: str, came_from: str = ""
) -> StoredListings:
    """Store the offers of a built-in source: the starter collection, or an import."""
    details = {"came_from": came_from} if came_from else {}
    offers = [offer_of(integration, details=details) for integration in integrations]
    return store_offers(offers, source=built_in_source(source))


def built_in_source(slug: str) -> Source:
    """Return the row of a built-in source; create it if it is missing."""
    kind = slug if slug in _TITLES else Source.IMPORT
    values = {"title": _TITLES.get(slug, slug), "kind": kind, "schedule_hours": 0, "state": "ready"}
    return Source.objects.get_or_create(slug=slug, defaults=values)[0]


@transaction.atomic
def store_offers(offers: Iterable[Offer], *, source: Source) -> StoredListings:
    """Store new and changed listings and versions of this source.

    An offer that describes another thing under a known key is left out and reported,
    independent of their order.
    """
    clashes: list[Defect] = []
    by_key = _group_by_key(offers, clashes)
    stored_rows = Listing.objects.filter(source=source, key__in=by_key).select_for_update()
    rows = {row.key: row for row in stored_rows.order_by("pk")}
    for key in _find_clashes(by_key, rows, clashes):
        del by_key[key]
        rows.pop(key, None)
    slugs = _Slugs(source, by_key)
    new: list[Listing] = []
    changed: list[Listing] = []
    # The version to show for each entry, without entries whose versions are all deleted.
    for key, offer in {
        key: _latest(several) for key, several in by_key.items() if _is_offered(several)
    }.items():
        row, values = rows.get(key), _values(offer, source)
        if row is not None and row.details.get("came_from"):
            values["details"] = {**values["details"], "came_from": row.details["came_from"]}
        if row is None:
            rows[key] = Listing(slug=slugs.choose(offer), source=source, **values)
            new.append(rows[key])
        # An earlier page of this run may have stored a later version of it.
        elif (row.run != source.run or offer.is_latest) and _assign(row, values):
            changed.append(row)
    assign_icons((row, icon_address(row.details.get("icon"))) for row in (*new, *changed))
    Listing.objects.bulk_create(new)
    overwrite(Listing, changed, [*_COMPARED_FIELDS, "icon", "vanished_at", "updated_at"])
    describe_listings([*new, *changed])
    offered_keys = [row.pk for key, row in rows.items() if _is_offered(by_key[key])]
    Listing.objects.filter(pk__in=offered_keys).update(run=source.run)
    _store_versions(rows, by_key)
    _store_files(rows, by_key, {row.key for row in (*new, *changed)})
    held = len(scan_listings(rows.values()))
    unchanged = len(offered_keys) - len(new) - len(changed)
    return StoredListings(len(new), len(changed), unchanged, held, [*clashes, *slugs.defects])


def _group_by_key(offers: Iterable[Offer], clashes: list[Defect]) -> dict[str, list[Offer]]:
    """Group offers by key, leaving out those that describe another thing than the first."""
    by_key: dict[str, list[Offer]] = {}
    for offer in offers:
        versions = by_key.setdefault(offer.key, [])
        if versions and _describes_other(versions[0].descriptor, offer):
            clashes.append(_clash_defect(versions[0].descriptor, "this source", offer))
        else:
            versions.append(offer)
    return by_key


def _find_clashes(
    by_key: Mapping[str, list[Offer]], rows: Mapping[str, Listing], clashes: list[Defect]
) -> list[str]:
    """Return keys whose stored listing is another thing, or was declared in another file."""
    clashing_keys = []
    for key, row in rows.items():
        offer = _latest(by_key[key])
        source = str(row.details.get("came_from", ""))
        if _describes_other(row, offer) or _is_declared_elsewhere(row, offer):
            clashes.append(_clash_defect(row, source, offer))
            clashing_keys.append(key)
    return clashing_keys


def _describes_other(stored: DescribedIntegration, offer: Offer) -> bool:
    """Return True if the offer describes another thing.

    A registry's name ("publisher/server") identifies one thing whose address or package may change
    between versions. A bare name does not.
    """
    if stored.kind != offer.descriptor.kind:
        return True
    return "/" not in offer.key and find_target(stored) != find_target(offer.descriptor)


def _is_declared_elsewhere(row: Listing, offer: Offer) -> bool:
    """Return True if another file declared the listing, and this declaration differs."""
    before, now = row.details.get("came_from"), offer.details.get("came_from")
    if not before or not now or before == now:
        return False
    values = _values(offer, Source())
    values["details"] = {**values["details"], "came_from": before}
    return any(getattr(row, name) != values[name] for name in _COMPARED_FIELDS)


def _clash_defect(stored: DescribedIntegration, source: str, offer: Offer) -> Defect:
    second = describe_integration(offer.descriptor, str(offer.details.get("came_from", "")))
    reason = (
        f"{offer.key} is the name of {describe_integration(stored, source)}; {second} is left out"
    )
    return Defect(file_of(offer.descriptor) or offer.key, "name", reason)


def _is_offered(versions: Sequence[Offer]) -> bool:
    """Return True if any version can still be installed."""
    return any(version.status != ListingVersion.Status.DELETED for version in versions)


class _Slugs:
    """Assigns slugs to new listings. If a slug is taken, the source's name is appended."""

    def __init__(self, source: Source, by_key: dict[str, list[Offer]]) -> None:
        self._source = source
        slugs = {_latest(versions).descriptor.slug for versions in by_key.values()}
        slugs |= {self._with_source(slug) for slug in slugs}
        others = Listing.objects.filter(slug__in=slugs).select_related("source")
        self._taken = {row.slug: row for row in others}
        self._given: set[str] = set()
        self.defects: list[Defect] = []

    def choose(self, offer: Offer) -> str:
        """Return a free slug for a new listing."""
        plain = offer.descriptor.slug
        for slug in (
            plain,
            self._with_source(plain),
            slug_for(f"{plain} {self._source.slug} {offer.key}"),
        ):
            if slug not in self._taken and slug not in self._given:
                break
        if slug != plain:
            self._report(offer, plain, slug)
        self._given.add(slug)
        return slug

    def _with_source(self, slug: str) -> str:
        return slug_for(f"{slug}-{self._source.slug}")

    def _report(self, offer: Offer, plain: str, slug: str) -> None:
        first = self._taken.get(plain)
        by = first.source.title if first and first.source else "this source"
        reason = f"{plain} is offered by {by} already; this one is listed as {slug}"
        self.defects.append(Renaming(file_of(offer.descriptor) or offer.key, "name", reason))


def _latest(versions: Sequence[Offer]) -> Offer:
    """Return the version marked as latest, else the last published, else the last one.

    One before its release is the latest only where nothing stable is there.
    """
    offered = [version for version in versions if version.status != ListingVersion.Status.DELETED]
    offered = [entry for entry in offered if is_stable(entry.descriptor.version)] or offered
    marked = [version for version in offered if version.is_latest] or offered or list(versions)
    dated = [version for version in marked if version.published_at is not None]
    return max(dated, key=lambda version: version.published_at) if dated else marked[-1]  # type: ignore[arg-type, return-value]


def _assign(row: Listing, values: dict[str, Any]) -> bool:
    """Set the values; return True if any of them changed."""
    differs = row.vanished_at is not None or any(
        getattr(row, name) != values[name] for name in _COMPARED_FIELDS
    )
    for name, value in values.items():
        setattr(row, name, value)
    row.vanished_at = None
    return differs


def _values(offer: Offer, source: Source) -> dict[str, Any]:
    descriptor = column_values(offer.descriptor)
    del descriptor["slug"]
    return descriptor | {
        "details": descriptor.pop("source_ref") | offer.details,
        "key": offer.key,
        "category": offer.category,
        "tags": list(offer.tags),
        "readme": offer.readme,
        "repository": offer.repository,
        "tools": list(offer.tools),
        "needs": needs_of(offer.descriptor),
        "published_at": offer.published_at,
        "run": source.run,
    }


def _store_versions(rows: dict[str, Listing], by_key: dict[str, list[Offer]]) -> None:
    """Store new and changed versions. Their descriptors get the listing's slug."""
    versions_by_listing = {row.pk: row.version for row in rows.values()}
    stored = {
        (version.listing_id, version.version): version
        for version in ListingVersion.objects.filter(listing__in=versions_by_listing).order_by("pk")
    }
    offered = {
        (row.listing_id, row.version): row
        for key, listing in rows.items()
        for row in (_version(listing, offer) for offer in by_key[key])
    }
    ListingVersion.objects.bulk_create(
        [row for at, row in offered.items() if at not in stored or _differs(stored[at], row)],
        update_conflicts=True,
        unique_fields=["listing", "version"],
        update_fields=_VERSION_FIELDS,
    )
    _mark_latest(versions_by_listing)


def _version(listing: Listing, offer: Offer) -> ListingVersion:
    return ListingVersion(
        listing=listing,
        version=offer.descriptor.version,
        descriptor=column_values(offer.descriptor) | {"slug": listing.slug},
        status=offer.status,
        published_at=offer.published_at,
    )


def _differs(stored: ListingVersion, offered: ListingVersion) -> bool:
    return any(getattr(stored, name) != getattr(offered, name) for name in _VERSION_FIELDS)


def _mark_latest(versions_by_listing: dict[int, str]) -> None:
    """Mark the version that each listing shows, which may have come with an earlier page."""
    # Compared in Python, not by a join: in the middle of a large import Postgres may estimate both
    # tables as empty, and would then compare every row with every other.
    versions = ListingVersion.objects.filter(listing__in=versions_by_listing).order_by("pk")
    wrong: dict[bool, list[int]] = {True: [], False: []}
    for pk, listing, version, marked in versions.values_list(
        "pk", "listing", "version", "is_latest"
    ):
        if marked != (version == versions_by_listing[listing]):
            wrong[not marked].append(pk)
    for right, keys in wrong.items():
        ListingVersion.objects.filter(pk__in=keys).update(is_latest=right)


def _store_files(
    rows: dict[str, Listing], by_key: dict[str, list[Offer]], differing: set[str]
) -> None:
    """Replace the files of changed skills. A listing's details hold the digest of its files."""
    ListingFile.objects.filter(listing__in=[rows[key].pk for key in differing]).delete()
    ListingFile.objects.bulk_create(
        ListingFile(listing=rows[key], path=file.path, content=file.content)
        for key in sorted(differing)
        for file in _latest(by_key[key]).files
    )


_VERSION_FIELDS = ["descriptor", "status", "published_at"]
_COMPARED_FIELDS = [
    name
    for name in _values(offer_of(IntegrationDescriptor(slug="", kind="mcp", title="")), Source())
    if name not in ("key", "run")
]
