"""Listing, adding, changing and removing sources. Workers read what is at their locations."""

from dataclasses import dataclass

import structlog
from django.contrib.auth.models import User
from django.core.paginator import Page, Paginator
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from acl.audit.recorder import record
from acl.platform.task_names import REFRESH_SOURCE, send_on_commit
from catalog.formats.files import RefusedError
from catalog.formats.names import slug_for
from catalog.formats.secret_redaction import REDACTED, redact_url, word_address
from catalog.models import Integration
from catalog.servers.net.address_check import AllowedHosts, check_address
from marketplace.models import Listing, Source
from marketplace.offers.kinds.registry import ADDED_KINDS, KINDS
from marketplace.offers.offer import archive_url, resolve_allowed_path

log = structlog.get_logger(__name__)
_DEFECTS_ON_A_PAGE = 50
# The last reading stopped before the end.
_INCOMPLETE = Q(state=Source.State.READY, report__complete=False)


class NotRefreshableError(Exception):
    """A source without a location has nothing to be read again."""

    def __init__(self, source: Source) -> None:
        message = _("A command loaded this source. Run the command again to refresh it.")
        if source.kind == Source.BY_HAND:
            message = _("Admins added these listings one by one. Add one again to refresh it.")
        super().__init__(message)


class BuiltInSourceError(Exception):
    """Built-in sources cannot be changed or removed."""

    def __init__(self) -> None:
        super().__init__(_("This source belongs to Pegboard and cannot be changed or removed."))


@dataclass(frozen=True, slots=True)
class SourceDetails:
    """A source with counts of its listings, and a page of defects."""

    source: Source
    listings: int
    installed: int
    vanished: int
    defects: Page  # rows of `Source.report`


def check_location(kind: str, location: str) -> None:
    """Raise if a source of this kind cannot be at this location. Sends no request.

    Raises EndpointNotAllowedError, LocationNotAllowedError, or RefusedError with the reason.
    """
    if kind not in dict(ADDED_KINDS):
        raise RefusedError("is of a kind that nobody adds")
    if location.startswith("/"):
        resolve_allowed_path(location)
        return
    check_address(location, AllowedHosts.from_settings())
    if redact_url(location) != location:
        raise RefusedError("contains a secret, and sources are read without secrets")
    place = KINDS[kind].PLACE
    is_document = location.partition("?")[0].endswith(".json") and place != "archive"
    if place != "document" and not is_document:
        archive_url(location)


def list_sources() -> QuerySet[Source]:
    """Return all sources with their number of listings, without their possibly long reports."""
    offered = Count("listings", filter=Q(listings__vanished_at=None))
    sources = Source.objects.annotate(offered=offered, incomplete=_INCOMPLETE)
    return sources.defer("report").order_by("title", "pk")


def source_details(*, slug: str, page: str = "") -> SourceDetails | None:
    """Return one source, or None."""
    sources = Source.objects.select_related("by").annotate(incomplete=_INCOMPLETE)
    source = sources.filter(slug=slug).first()
    if source is None:
        return None
    listings = Listing.objects.filter(source=source)
    figures = listings.aggregate(
        listings=Count("pk", filter=Q(vanished_at=None)),
        vanished=Count("pk", filter=~Q(vanished_at=None)),
    )
    defects = Paginator(source.report.get("defects", []), _DEFECTS_ON_A_PAGE).get_page(page)
    return SourceDetails(
        source,
        installed=Integration.objects.filter(listing__in=listings.values("slug")).count(),
        defects=defects,
        **figures,
    )


@transaction.atomic
def add_source(
    *, by: User, kind: str, location: str, title: str = "", schedule_hours: int = 24
) -> Source:
    """Add a source and queue its first reading. Raises like `check_location`."""
    check_location(kind, location)
    name = title or _title_from(location)
    source = Source.objects.create(
        slug=_unused_slug(slug_for(name)),
        title=name[:200],
        kind=kind,
        location=location,
        schedule_hours=schedule_hours,
        by=by,
    )
    details = {"kind": kind, "location": word_address(location)}
    record(by=by, action="source.add", target=source.slug, details=details)
    request_refresh(by=by, source=source)
    return source


@transaction.atomic
def change_source(*, by: User, source: Source, enabled: bool, schedule_hours: int) -> bool:
    """Change settings of a source. Return False if nothing changes."""
    if not source.is_added:
        raise BuiltInSourceError
    values = {"enabled": enabled, "schedule_hours": schedule_hours}
    if all(getattr(source, name) == value for name, value in values.items()):
        return False
    source.enabled, source.schedule_hours = enabled, schedule_hours
    source.save(update_fields=list(values))
    record(by=by, action="source.change", target=source.slug, details=values)
    return True


@transaction.atomic
def request_refresh(*, by: User, source: Source) -> bool:
    """Queue a reading. Return False if one is under way already."""
    if not source.is_refreshable:
        raise NotRefreshableError(source)
    resting = Source.objects.filter(pk=source.pk).exclude(state__in=Source.UNDER_WAY)
    waits = {
        "state": Source.State.QUEUED,
        "reason": "",
        "message": gettext_noop("Waiting for a worker."),
    }
    if not resting.update(sent_at=Now(), attempts=0, **waits):
        return False
    source.refresh_from_db()
    record(by=by, action="source.refresh", target=source.slug)
    send_on_commit(REFRESH_SOURCE, source.pk)
    return True


@transaction.atomic
def remove_source(*, by: User, source: Source) -> None:
    """Remove a source and its listings, except installed ones: these are marked as vanished."""
    if not source.is_added:
        raise BuiltInSourceError
    installed = Integration.objects.exclude(listing="").values("listing")
    listings = Listing.objects.filter(source=source)
    vanished = listings.filter(slug__in=installed).update(vanished_at=Now())
    removed = listings.exclude(slug__in=installed).count()
    listings.exclude(slug__in=installed).delete()
    record(by=by, action="source.remove", target=source.slug, details={"listings": removed})
    log.info("source removed", source=source.slug, listings=removed, kept=vanished)
    source.delete()


def _title_from(location: str) -> str:
    """Derive a title from the location: its last folder, or its host."""
    place = word_address(location).partition("?")[0].partition("#")[0]
    plain = place.rstrip("/").removesuffix(".git")
    host, _, path = plain.partition("://")[2].partition("/")
    folder = path.rpartition("/")[2]
    return folder.replace(REDACTED, "") or host or plain.rpartition("/")[2]


def _unused_slug(slug: str) -> str:
    """Return the slug, with a number appended if it is taken."""
    taken = set(Source.objects.filter(slug__startswith=slug[:44]).values_list("slug", flat=True))
    numbered = (f"{slug[:44]}-{number}" for number in range(2, len(taken) + 3))
    return (
        slug
        if slug not in taken
        else next(candidate for candidate in numbered if candidate not in taken)
    )
