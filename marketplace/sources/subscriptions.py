"""Sources, as people ask for them. Workers read them; here only rows are written."""

from functools import partial

import structlog
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now

from acl.audit.recorder import record
from catalog.formats.names import slug_for
from catalog.models import Integration
from marketplace.installs.install_requests import send_task
from marketplace.models import Listing, Source
from marketplace.sources.source_location import check_location

log = structlog.get_logger(__name__)
TASK = "servers.refresh_source"


class NotRefreshableError(Exception):
    """What a command has loaded is nowhere to be read again."""

    def __init__(self) -> None:
        super().__init__("This was loaded by a command: run the command again.")


class SourceOfOursError(Exception):
    """What is there by itself is not anybody's to change or remove."""

    def __init__(self) -> None:
        super().__init__("This source belongs to Pegboard and cannot be changed or removed.")


@transaction.atomic
def add_source(
    *, by: User, kind: str, location: str, title: str = "", schedule_hours: int = 24
) -> Source:
    """Add a source and begin to read it. Raises what `check_location` raises."""
    check_location(kind, location)
    shown = title or _named(location)
    source = Source.objects.create(
        slug=_free(slug_for(shown)),
        title=shown[:200],
        kind=kind,
        location=location,
        schedule_hours=schedule_hours,
        by=by,
    )
    details = {"kind": kind, "location": location}
    record(by=by, action="source.add", target=source.slug, details=details)
    request_refresh(by=by, source=source)
    return source


@transaction.atomic
def change_source(*, by: User, source: Source, enabled: bool, schedule_hours: int) -> bool:
    """Switch it on or off, or read it more or less often; False where it is so already."""
    if not source.is_added:
        raise SourceOfOursError
    wanted = {"enabled": enabled, "schedule_hours": schedule_hours}
    if all(getattr(source, name) == value for name, value in wanted.items()):
        return False
    source.enabled, source.schedule_hours = enabled, schedule_hours
    source.save(update_fields=list(wanted))
    record(by=by, action="source.change", target=source.slug, details=wanted)
    return True


@transaction.atomic
def request_refresh(*, by: User, source: Source) -> bool:
    """Have a source read as soon as a worker comes to it; False where it is under way already."""
    if source.kind == Source.Kind.IMPORT:
        raise NotRefreshableError
    resting = Source.objects.filter(pk=source.pk).exclude(state__in=Source.UNDER_WAY)
    waits = {"state": Source.State.QUEUED, "reason": "", "message": "Waits for a worker."}
    if not resting.update(sent_at=Now(), attempts=0, **waits):
        return False
    source.refresh_from_db()
    record(by=by, action="source.refresh", target=source.slug)
    transaction.on_commit(partial(send_task, TASK, source.pk), robust=True)
    return True


@transaction.atomic
def remove_source(*, by: User, source: Source) -> None:
    """Remove a source and its listings; of what is installed the listing stays, marked as gone."""
    if not source.is_added:
        raise SourceOfOursError
    installed = Integration.objects.exclude(listing="").values("listing")
    own = Listing.objects.filter(source=source)
    kept = own.filter(slug__in=installed).update(vanished_at=Now())
    removed = own.exclude(slug__in=installed).count()
    own.exclude(slug__in=installed).delete()
    record(by=by, action="source.remove", target=source.slug, details={"listings": removed})
    log.info("source removed", source=source.slug, listings=removed, kept=kept)
    source.delete()


def _named(location: str) -> str:
    """A name from the address: its host, or its last folder."""
    plain = location.rstrip("/").removesuffix(".git")
    host, _, path = plain.partition("://")[2].partition("/")
    return path.rpartition("/")[2] or host or plain.rpartition("/")[2]


def _free(slug: str) -> str:
    """The slug, with a number where there is one already."""
    taken = set(Source.objects.filter(slug__startswith=slug[:44]).values_list("slug", flat=True))
    numbered = (f"{slug[:44]}-{number}" for number in range(2, len(taken) + 3))
    return slug if slug not in taken else next(one for one in numbered if one not in taken)
