"""Visibility of sources, listings and installed integrations in the marketplace.

Every signed-in user sees public sources. Sources on this machine, from commands or from client
configurations disclose internals of the organisation: only admins see those, and the versions that
are installed. Others see an installation only if they may use something of it. Listings whose texts
the scanner holds are for admins only, too.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from acl.rights.caller_lookup import Caller
from catalog.models import Capability, Integration
from catalog.models.integration import ReviewState
from marketplace.models import Listing, Source
from marketplace.offers.kinds.registry import PUBLIC_KINDS

# The condition of `visible_listings` for raw SQL, where `l` is the listing.
PASSED = "l.review IN ('clear', 'approved')"
VISIBLE = f"""
(%(everywhere)s OR ({PASSED} AND l.source_id = ANY(%(sources)s::bigint[])))
"""
OFFERED = f"l.vanished_at IS NULL AND {VISIBLE}"


@dataclass(frozen=True, slots=True)
class Viewer:
    """An admin, or a caller whose rights decide. Without a caller, nobody's rights."""

    is_admin: bool
    caller: Caller | None = None


def visible_sources(viewer: Viewer) -> QuerySet[Source]:
    """Return the sources whose listings the viewer may see."""
    sources = Source.objects.order_by("title", "pk")
    if viewer.is_admin:
        return sources
    return sources.filter(~Q(location__startswith="/"), kind__in=PUBLIC_KINDS)


def visible_listings(viewer: Viewer) -> QuerySet[Listing]:
    """Return listings that the viewer may see. Only admins see those that lost their source."""
    offered = Listing.objects.filter(vanished_at=None)
    if viewer.is_admin:
        return offered
    return offered.filter(source__in=visible_sources(viewer), review__in=Listing.PASSED)


def visibility_parameters(viewer: Viewer, sources: Iterable[Source]) -> dict[str, Any]:
    """Return the parameters of `VISIBLE`, from sources that were read already."""
    return {"everywhere": viewer.is_admin, "sources": [source.pk for source in sources]}


def visible_integrations(viewer: Viewer) -> QuerySet[Integration]:
    """Return the integrations installed from listings that the viewer may know of."""
    installed = Integration.objects.exclude(listing="").exclude(state=ReviewState.PENDING)
    if viewer.is_admin:
        return installed
    if viewer.caller is None:
        return installed.none()
    usable = Capability.objects.usable_by(viewer.caller, unavailable=True)
    return installed.filter(pk__in=usable.values("integration"))
