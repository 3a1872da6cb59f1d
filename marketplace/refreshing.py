"""The worker's part of a source: read it, store what it offers, mark what it offers no longer.

Of two workers, one reads: each pass has a number, and whoever has an older one writes nothing more.
"""

from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import timedelta
from hashlib import sha256
from itertools import islice
from time import monotonic

from django.conf import settings
from django.db import transaction
from django.db.models import DurationField, ExpressionWrapper, F, Q, QuerySet, Value
from django.db.models.functions import Now

from catalog.descriptors import Defect, canonical_json
from catalog.normalizing.reading import RefusedError
from catalog.outgoing.fetching import fetch as guarded_fetch
from catalog.outgoing.problems import OutgoingError
from marketplace.models import Source
from marketplace.offers import Offer
from marketplace.services.listings import StoredListings, store_offers
from marketplace.sources.kinds import READERS
from marketplace.sources.problems import (
    LocationNotAllowedError,
    NotModifiedError,
    SourceProblemError,
)
from marketplace.sources.reading import Fetch, Reading
from marketplace.vanishing import follow_renames, mark_vanished

State = Source.State
MOST_ATTEMPTS = 3
# Longer than anything that a pass does without telling that it lives, such as a slow archive.
STEP_SECONDS = 420
RETRY_HOURS = 1
_BATCH = 200
_TELL_SECONDS = 2.0


class OvertakenError(Exception):
    """Another pass has begun, or the source was removed."""


def refresh_source(pk: int, *, fetch: Fetch = guarded_fetch) -> None:
    """Read a source that waits for it. What goes wrong is told in its row."""
    source = _claim(pk)
    if source is None:
        return
    pass_ = _Pass(source, fetch)
    try:
        pass_.run()
    except OvertakenError:
        return
    except NotModifiedError:
        _end(source, "Nothing has changed since it was last read.")
    except _KNOWN as problem:
        pass_.fail(problem)


def _claim(pk: int) -> Source | None:
    """The source, its attempt counted before the work that may end the process."""
    waiting = Source.objects.filter(pk=pk, state=State.QUEUED)
    with transaction.atomic():
        source = waiting.select_for_update(skip_locked=True).first()
        if source is None:
            return None
        if source.attempts >= MOST_ATTEMPTS:
            _set(source, State.FAILED, reason="gave_up", message="It ended the worker every time.")
            return None
        source.run += 1
        waiting.update(
            state=State.REFRESHING, run=source.run, attempts=F("attempts") + 1, done=0, total=None,
            message="Is being read.", reason="", sent_at=Now(), tried_at=Now(),
        )  # fmt: skip
        source.state = State.REFRESHING
    return source


class _Pass:
    """One reading from the first entry to the report."""

    def __init__(self, source: Source, fetch: Fetch) -> None:
        self._source = source
        self._reading = Reading(source, fetch=fetch, alive=self._alive)
        self._stored = StoredListings()
        self._seen: dict[tuple[str, str], bytes] = {}
        self._done = 0
        self._told_at = monotonic()

    def run(self) -> None:
        """Read and store in batches, so that an end on the way loses nothing."""
        reading, source = self._reading, self._source
        for batch in _batches(self._distinct(READERS[source.kind].offers(reading))):
            with transaction.atomic():
                self._hold()
                follow_renames(source, reading.renames)
                self._stored.add(store_offers(batch, source=source))
            self._tell()
        with transaction.atomic():
            self._hold()
            follow_renames(source, reading.renames)
            vanished = mark_vanished(source, kept=reading.kept) if reading.complete else 0
            _end(
                source,
                f"{self._done:,} entries read.",
                report=self._report(vanished),
                etag=reading.etag,
                last_modified=reading.last_modified,
                done=self._done,
            )

    def fail(self, problem: Exception) -> None:
        """Say why it ended. What was stored until then stays, and nothing counts as gone."""
        words = str(problem)
        if self._done:
            words = f"{words} {self._done:,} entries were read before."
        reason = getattr(problem, "reason", "") or getattr(problem, "code", "failed")
        if isinstance(problem, RefusedError):
            reason, words = "refused", f"It {words}."
        report = self._report(0)
        _set(self._source, State.FAILED, reason=reason[:32], message=words, report=report)

    def _distinct(self, offers: Iterator[Offer]) -> Iterator[Offer]:
        """Every version once; one that says something else of itself a second time is told."""
        for offer in offers:
            at = (offer.key, offer.descriptor.version)
            said = _digest(offer)
            self._done += 1
            if at not in self._seen:
                self._seen[at] = said
                yield offer
            elif self._seen[at] != said:
                file = str(offer.descriptor.source_ref.get("file", ""))
                reason = f"{offer.key} is offered before with another content"
                self._reading.report(Defect(file, "name", reason))

    def _alive(self) -> None:
        """Say that it lives, and how far it is, unless it just did."""
        if monotonic() - self._told_at > _TELL_SECONDS:
            self._tell()

    def _tell(self) -> None:
        self._told_at = monotonic()
        own = self._own().update(done=self._done, total=self._reading.total, sent_at=Now())
        if not own:
            raise OvertakenError

    def _hold(self) -> None:
        """Keep others from beginning a pass until this transaction ends."""
        if not self._own().select_for_update().exists():
            raise OvertakenError

    def _own(self) -> QuerySet[Source]:
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
                {"file": one.file, "field": one.field, "reason": one.reason} for one in defects
            ],
        }


def _batches(offers: Iterator[Offer]) -> Iterator[list[Offer]]:
    while batch := list(islice(offers, _BATCH)):
        yield batch


def _digest(offer: Offer) -> bytes:
    """Of all that an offer says of itself, but for where it was read."""
    told = canonical_json(asdict(replace(offer.descriptor, source_ref={})))
    return sha256(told.encode()).digest()


def _end(source: Source, message: str, **columns: object) -> None:
    """It was read to its end."""
    _set(source, State.READY, message=message, reason="", refreshed_at=Now(), **columns)


def _set(source: Source, state: State, **columns: object) -> None:
    """Where it stands now, unless another pass has begun."""
    own = Source.objects.filter(pk=source.pk, run=source.run, state__in=Source.UNDER_WAY)
    own.update(state=state, attempts=0, **columns)


def sources_to_read() -> list[int]:
    """Sources to be sent to a worker: whose hour has come, and whose task or worker was lost."""
    now = Now()
    with transaction.atomic():
        waiting = Source.objects.select_for_update(skip_locked=True).filter(_lost() | _due())
        keys = list(waiting.order_by("pk").values_list("pk", flat=True))
        Source.objects.filter(pk__in=keys).update(state=State.QUEUED, sent_at=now)
    return keys


def _lost() -> Q:
    patience = settings.PEGBOARD_SWEEP_AFTER_SECONDS
    queued = Q(state=State.QUEUED, sent_at__lt=Now() - timedelta(seconds=patience))
    within = timedelta(seconds=max(patience, STEP_SECONDS))
    return queued | Q(state=State.REFRESHING, sent_at__lt=Now() - within)


def _due() -> Q:
    """By its schedule; what failed is tried again sooner."""
    hours = F("schedule_hours") * Value(timedelta(hours=1))
    rest = ExpressionWrapper(hours, output_field=DurationField())
    due = Q(tried_at=None) | Q(tried_at__lt=Now() - rest)
    again = Q(state=State.FAILED, tried_at__lt=Now() - timedelta(hours=RETRY_HOURS))
    resting = Q(state__in=(State.NEW, State.READY, State.FAILED), enabled=True)
    return resting & Q(schedule_hours__gt=0) & (due | again)


_KNOWN = (SourceProblemError, OutgoingError, LocationNotAllowedError, RefusedError)
