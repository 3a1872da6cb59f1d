"""Listings of what was added by hand, for admins only, and the sentence that says what it is."""

from collections.abc import Iterable

from catalog.formats.descriptors import Descriptor, IntegrationDescriptor
from marketplace.listings.offers import Offer, offer_of
from marketplace.listings.store import built_in_source, store_offers
from marketplace.models import Addition, Listing

SOURCE = "added"
State = Addition.State


def store_server(
    row: Addition, descriptor: IntegrationDescriptor, tools: Iterable[Descriptor] = ()
) -> None:
    """Store the listing, and set the row's outcome; saves only the listing."""
    offer = offer_of(descriptor, tools, key=descriptor.slug)
    stored, defects = _store(offer)
    if stored is None:
        row.state, row.reason, row.message = State.FAILED, "name_taken", defects
        return
    row.state, row.listing = State.READY, stored.slug
    row.message = row.message or "Nothing was contacted. Its tools are listed when it is installed."


def _store(offer: Offer) -> tuple[Listing | None, str]:
    source = built_in_source(SOURCE)
    report = store_offers([offer], source=source)
    if not report.loaded:
        return None, "; ".join(str(defect) for defect in report.defects)
    return Listing.objects.get(source=source, key=offer.key), ""
