"""Refreshing a source in a worker: read it, store its offers, mark removed listings.

Every pass gets a run number. A worker whose number is no longer current writes nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from hashlib import sha256
from itertools import islice
from time import monotonic

from celery import shared_task
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import DurationField, ExpressionWrapper, F, Q, QuerySet, Value
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from acl.platform.jobs import GAVE_UP, GAVE_UP_MESSAGE, lock_unless_taken, move, overdue, send_again
from acl.platform.task_names import REFRESH_SOURCE, SWEEP_SOURCES
from catalog.formats.descriptors import Defect, Loaded, canonical_json
from catalog.formats.files import RefusedError
from catalog.models import Integration
from catalog.registration.register import RegistrationReport, register
from catalog.servers.net.address_check import OutgoingError
from catalog.servers.net.guarded_requests import fetch as guarded_fetch
from marketplace.listings.store import StoredListings, store_listings, store_offers
from marketplace.models import Listing, Source
from marketplace.offers.kinds.registry import KINDS
from marketplace.offers.offer import (
    LocationNotAllowedError,
    NotModifiedError,
    Offer,
    SourceProblemError,
)
from marketplace.sources._reader import Fetch, SourceReading

# Importing a source: capabilities go into the catalogue, other integrations become listings.


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


# Listings that their source removed or renamed.


def mark_vanished(source: Source, *, plugins: set[str]) -> int:
    """Mark listings that this run has not seen, and return their number.

    Installed ones stay, marked as vanished; others are deleted. Parts of the plugins in `plugins`
    were not fetched in this run, so they are left alone.
    """
    unseen = Listing.objects.filter(source=source).exclude(run=source.run)
    # NULL IN (...) is neither true nor false in SQL: `exclude` would drop rows without that key.
    gone = (
        unseen.filter(Q(details__plugin=None) | ~Q(details__plugin__in=plugins))
        if plugins
        else unseen
    )
    installed = Integration.objects.exclude(listing="").values("listing")
    marked = gone.filter(slug__in=installed, vanished_at=None).update(vanished_at=Now())
    _, removed = gone.exclude(slug__in=installed).delete()
    return marked + removed.get(Listing._meta.label, 0)


def follow_renames(source: Source, renames: dict[str, str]) -> list[str]:
    """Rename the keys of listings; slugs and installations stay. Return the old keys."""
    if not renames:
        return []
    new_keys = {old: _follow(old, renames) for old in renames}
    names = {*new_keys, *new_keys.values()}
    rows = {row.key: row for row in Listing.objects.filter(source=source, key__in=names)}
    followed = []
    for old, new in new_keys.items():
        if old in rows and new not in rows and new != old:
            rows[new] = rows.pop(old)
            rows[new].key = new
            rows[new].save(update_fields=["key"])
            followed.append(old)
    return followed


def _follow(name: str, renames: dict[str, str]) -> str:
    """Follow a chain of renames to its end; stop before a cycle closes."""
    names = {name}
    while (following := renames.get(name)) and following not in names:
        names.add(following)
        name = following
    return name


State = Source.State
MOST_ATTEMPTS = 3
# Longer than the longest step without a heartbeat, such as fetching a slow archive.
STEP_SECONDS = 420
RETRY_HOURS = 1
_BATCH = 200
_HEARTBEAT_SECONDS = 2.0


class OvertakenError(Exception):
    """Another pass has begun, or the source was removed."""


def refresh_source(pk: int, *, fetch: Fetch = guarded_fetch) -> None:
    """Read a queued source. Problems are recorded in its row."""
    source = _claim(pk)
    if source is None:
        return
    pass_ = _Pass(source, fetch)
    try:
        pass_.run()
    except OvertakenError:
        return
    except NotModifiedError:
        _finish(source, gettext_noop("Nothing has changed since the last refresh."))
    except _EXPECTED as problem:
        pass_.fail(problem)


def _claim(pk: int) -> Source | None:
    """Take a queued source, counting the attempt before the work, which may kill the process."""
    with transaction.atomic():
        source = lock_unless_taken(Source.objects.filter(pk=pk, state=State.QUEUED))
        if source is None:
            return None
        if source.attempts >= MOST_ATTEMPTS:
            _end(source, State.FAILED, reason=GAVE_UP, message=GAVE_UP_MESSAGE)
            return None
        source.run += 1
        move(
            source, State.REFRESHING, run=source.run, attempts=F("attempts") + 1, done=0,
            total=None, message=gettext_noop("Reading."), reason="", sent_at=Now(), tried_at=Now(),
        )  # fmt: skip
    return source


class _Pass:
    """A pass over a source, from the first entry to the report."""

    def __init__(self, source: Source, fetch: Fetch) -> None:
        self._source = source
        self._reading = SourceReading(source, fetch=fetch, heartbeat=self._heartbeat)
        self._stored = StoredListings()
        self._seen: dict[tuple[str, str], bytes] = {}
        self._done = 0
        self._reported_at = monotonic()

    def run(self) -> None:
        """Read and store in batches: a crash loses only the last batch."""
        reading, source = self._reading, self._source
        kind = KINDS.get(source.kind)
        if kind is None:
            words = f"This version of Pegboard has no sources of {source.kind}."
            raise SourceProblemError("unknown_kind", words)
        for batch in _batches(self._without_repeats(kind.offers(reading))):
            with transaction.atomic():
                self._lock()
                follow_renames(source, reading.renames)
                self._stored.add(store_offers(batch, source=source))
            self._report_progress()
        with transaction.atomic():
            self._lock()
            follow_renames(source, reading.renames)
            vanished = mark_vanished(source, plugins=reading.kept) if reading.complete else 0
            _finish(
                source,
                f"{self._done:,} entries read.",
                report=self._report(vanished),
                etag=reading.etag,
                last_modified=reading.last_modified,
                done=self._done,
            )

    def fail(self, problem: Exception) -> None:
        """Record the failure. Stored offers stay, and no listing counts as removed."""
        words = str(problem)
        if self._done:
            words = f"{words} {self._done:,} entries were read before."
        reason = getattr(problem, "reason", "") or getattr(problem, "code", "failed")
        if isinstance(problem, RefusedError):
            reason, words = "refused", f"It {words}."
        report = self._report(0)
        _end(self._source, State.FAILED, reason=reason[:32], message=words, report=report)

    def _without_repeats(self, offers: Iterator[Offer]) -> Iterator[Offer]:
        """Yield each version once; report versions that come again with different content."""
        for offer in offers:
            at = (offer.key, offer.descriptor.version)
            # `source_ref` names the file that it was read from: equal offers may differ in it.
            content = canonical_json(asdict(replace(offer.descriptor, source_ref={})))
            digest = sha256(content.encode()).digest()
            self._done += 1
            if at not in self._seen:
                self._seen[at] = digest
                yield offer
            elif self._seen[at] != digest:
                file = str(offer.descriptor.source_ref.get("file", ""))
                reason = f"{offer.key} was already offered with different contents"
                self._reading.report(Defect(file, "name", reason))

    def _heartbeat(self) -> None:
        """Update the row's heartbeat and progress, unless that was done just now."""
        if monotonic() - self._reported_at > _HEARTBEAT_SECONDS:
            self._report_progress()

    def _report_progress(self) -> None:
        self._reported_at = monotonic()
        updated = self._own_row().update(done=self._done, total=self._reading.total, sent_at=Now())
        if not updated:
            raise OvertakenError

    def _lock(self) -> None:
        """Lock the source, so that no other pass can begin before this transaction ends."""
        if not self._own_row().select_for_update().exists():
            raise OvertakenError

    def _own_row(self) -> QuerySet[Source]:
        source = self._source
        return Source.objects.filter(pk=source.pk, run=source.run, state=State.REFRESHING)

    def _report(self, vanished: int) -> dict[str, object]:
        stored = self._stored
        defects = [*self._reading.defects, *stored.defects]
        return {
            "created": stored.created,
            "changed": stored.changed,
            "unchanged": stored.unchanged,
            "held": stored.held,
            "vanished": vanished,
            "complete": self._reading.complete,
            "defects": [
                {
                    "file": defect.file,
                    "field": defect.field,
                    "reason": defect.reason,
                    "line": defect.line,
                }
                for defect in defects
            ],
        }


def _batches(offers: Iterator[Offer]) -> Iterator[list[Offer]]:
    while batch := list(islice(offers, _BATCH)):
        yield batch


def _finish(source: Source, message: str, **columns: object) -> None:
    """Record that the source was read to its end."""
    _end(source, State.READY, message=message, reason="", refreshed_at=Now(), **columns)


def _end(source: Source, state: State, **columns: object) -> None:
    """Set the state and columns of a pass that is over, unless another one has begun."""
    # The sweep may have queued a slow pass again: as long as none has begun, this one's word holds.
    condition = Q(state__in=Source.UNDER_WAY)
    move(source, state, condition, unchanged=["run"], attempts=0, **columns)


def due_sources() -> QuerySet[Source]:
    """Return sources that are due by their schedule, or whose task or worker was lost."""
    reading = Q(state=State.REFRESHING) & overdue(at_least=STEP_SECONDS)
    return Source.objects.filter(((Q(state=State.QUEUED) & overdue()) | reading) | _due()).order_by(
        "pk"
    )


def _due() -> Q:
    """Match sources due by their schedule; failed ones are retried after RETRY_HOURS."""
    hours = F("schedule_hours") * Value(timedelta(hours=1))
    rest = ExpressionWrapper(hours, output_field=DurationField())
    due = Q(tried_at=None) | Q(tried_at__lt=Now() - rest)
    again = Q(state=State.FAILED, tried_at__lt=Now() - timedelta(hours=RETRY_HOURS))
    resting = Q(state__in=(State.NEW, State.READY, State.FAILED), enabled=True)
    return resting & Q(schedule_hours__gt=0) & (due | again)


_EXPECTED = (SourceProblemError, OutgoingError, LocationNotAllowedError, RefusedError)


@shared_task(name=REFRESH_SOURCE)  # type: ignore[untyped-decorator]
def refresh_one_source(pk: int) -> None:
    """Read a queued source."""
    refresh_source(pk)


@shared_task(name=SWEEP_SOURCES)  # type: ignore[untyped-decorator]
def sweep_sources() -> None:
    """Send tasks for sources that are due, and for those whose task was lost."""
    send_again(REFRESH_SOURCE, due_sources(), state=Source.State.QUEUED)
