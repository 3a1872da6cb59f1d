"""Who looks at the marketplace, and what of it is there for them.

Everybody who has signed in may browse what is on offer to the public. What an admin has loaded from
this machine, from a command or from a client's configuration tells of the organisation: admins see
that, and which version of what is installed. Others are told that something is installed only
where they may use it. A listing whose texts the scanner holds is there for admins only, too.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from acl.callers import Caller
from catalog.models import Capability, Integration
from catalog.models.integration import ReviewState
from marketplace.models import Listing, Source

_TELLING = (Source.Kind.MCP_JSON, Source.Kind.IMPORT)
# `listings_for` in statements that are written by hand, where `l` is the listing.
PASSED = "l.review IN ('clear', 'approved')"
VISIBLE = f"""
(%(everywhere)s OR ({PASSED} AND l.source_id = ANY(%(sources)s::bigint[])))
"""
OFFERED = f"l.vanished_at IS NULL AND {VISIBLE}"


@dataclass(frozen=True, slots=True)
class Viewer:
    """Somebody who looks: an admin, or a caller whose rights decide; nobody's rights without."""

    is_admin: bool
    caller: Caller | None = None


def sources_for(viewer: Viewer) -> QuerySet[Source]:
    """The sources whose listings the viewer may see."""
    sources = Source.objects.order_by("title", "pk")
    if viewer.is_admin:
        return sources
    return sources.exclude(Q(kind__in=_TELLING) | Q(location__startswith="/"))


def listings_for(viewer: Viewer) -> QuerySet[Listing]:
    """What is on offer, to this viewer. What lost its source is there for admins only."""
    offered = Listing.objects.filter(vanished_at=None)
    if viewer.is_admin:
        return offered
    return offered.filter(source__in=sources_for(viewer), review__in=Listing.PASSED)


def offered_to(viewer: Viewer, sources: Iterable[Source]) -> dict[str, Any]:
    """The parameters of `OFFERED`, with the viewer's sources as they have been read."""
    return {"everywhere": viewer.is_admin, "sources": [source.pk for source in sources]}


def installed_for(viewer: Viewer) -> QuerySet[Integration]:
    """What has been installed from a listing, as far as the viewer may know."""
    installed = Integration.objects.exclude(listing="").exclude(state=ReviewState.PENDING)
    if viewer.is_admin:
        return installed
    if viewer.caller is None:
        return installed.none()
    usable = Capability.objects.usable_by(viewer.caller, unavailable=True)
    return installed.filter(pk__in=usable.values("integration"))
