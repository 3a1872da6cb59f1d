"""The full listing: light definitions of all capabilities, without anyone's rights.

Each process keeps it as objects and shares it through Redis, so that a change is read once from
Postgres. Redis may lose it at any time; it holds nothing about users or groups.

A listing's rows are read in one statement, so it is consistent. It is labelled with the catalogue
version read just before, so it is never older than its label. Callers ask for the version that came
with their rights.
"""

import json
import random
import threading
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass
from zlib import crc32

from django.conf import settings
from django.db.models import F
from redis import Redis

from acl.platform.redis_circuit import attempt
from catalog.access.usable_ids import catalog_version
from catalog.models import Capability

KEY = "tool_catalog:all"
LOCK_KEY = f"{KEY}:lock"
LOCK_SECONDS = 3
POLL_SECONDS = 0.05
LONGEST_HEADER = 120


@dataclass(frozen=True, slots=True)
class ListingEntry:
    """A capability as shown in lists. The field order is that of the stored rows."""

    pk: int
    identifier: str
    full_name: str
    kind: str
    integration: str
    integration_title: str
    display_name: str
    description: str
    category: str
    tags: list[str]
    side_effect: str
    effect_flags: list[str]
    core: bool
    pinned: bool
    tokens: int
    definition_hash: str


@dataclass(frozen=True, slots=True)
class CatalogListing:
    """All capabilities at `version`, by primary key; `read_at` is a Unix time."""

    version: str
    read_at: float
    entries: dict[int, ListingEntry]

    @property
    def expired(self) -> bool:
        """Return True if the safety net should re-read it despite an unchanged version."""
        age = time.time() - self.read_at
        return age > float(settings.PEGBOARD_LISTING_SECONDS)


class ListingCache:
    """A listing read once, however many threads ask for it at the same time."""

    def __init__(
        self, load_entries: Callable[[], list[ListingEntry]], version: Callable[[], str]
    ) -> None:
        self._read_entries = load_entries
        self._read_version = version
        self._listing: CatalogListing | None = None
        self._lock = threading.Lock()

    def at(self, version: str) -> CatalogListing:
        """Return a listing at `version` or newer."""
        listing = self._listing
        if listing is not None and listing.version == version:
            # Expired but not wrong: one reader renews it while the others use it.
            if not listing.expired or not self._lock.acquire(blocking=False):
                return listing
        else:
            self._lock.acquire()
        try:
            return self._current()
        finally:
            self._lock.release()

    def clear(self) -> None:
        """Drop the listing in this process and in Redis."""
        with self._lock:
            self._listing = None
            attempt(lambda redis: redis.delete(KEY), default=None)

    def _current(self) -> CatalogListing:
        # Check again: while this thread waited, another may have read a newer listing.
        # The label is read before the rows, so the listing is never older than its label.
        version = self._read_version()
        listing = self._listing
        if listing is None or listing.version != version or listing.expired:
            listing = self._listing = self._shared_or_read(version)
        return listing

    def _shared_or_read(self, version: str) -> CatalogListing:
        """Read from Redis, or from Postgres unless another process is about to share it."""
        deadline = time.monotonic() + LOCK_SECONDS
        while (shared := _read_shared(version)) is None and time.monotonic() < deadline:
            if attempt(_take_lock, default=True):
                # Check Redis again after taking the lock: its previous holder may have shared.
                shared = _read_shared(version)
                if shared is not None:
                    attempt(lambda redis: redis.delete(LOCK_KEY), default=None)
                break
            time.sleep(POLL_SECONDS * random.uniform(0.5, 1.5))  # noqa: S311 - jitter
        return shared or self._read_and_share(version)

    def _read_and_share(self, version: str) -> CatalogListing:
        read_at = time.time()
        listing = CatalogListing(
            version, read_at, {entry.pk: entry for entry in self._read_entries()}
        )
        attempt(lambda redis: _share(redis, listing), default=None)
        return listing


def read_entries() -> list[ListingEntry]:
    """Read all capabilities, in one statement."""
    computed = {"integration": F("integration__slug"), "integration_title": F("integration__title")}
    columns = [computed.get(name, F(name)) for name in ListingEntry.__slots__]
    return [ListingEntry(*row) for row in Capability.objects.order_by("pk").values_list(*columns)]


def build_entry(row: Capability) -> ListingEntry:
    """Build the entry of a row whose integration was selected with it."""
    columns = {name: getattr(row, name) for name in ListingEntry.__slots__ if hasattr(row, name)}
    integration_columns = {
        "integration": row.integration.slug,
        "integration_title": row.integration.title,
    }
    return ListingEntry(**(columns | integration_columns))


def _take_lock(redis: Redis) -> bool:
    return bool(redis.set(LOCK_KEY, "1", nx=True, ex=LOCK_SECONDS))


def _share(redis: Redis, listing: CatalogListing) -> None:
    rows = json.dumps([astuple(entry) for entry in listing.entries.values()])
    header = json.dumps([_label(listing.version), listing.read_at])
    # Jitter of a tenth, so that not all copies expire at once.
    seconds = int(settings.PEGBOARD_LISTING_SECONDS * random.uniform(0.9, 1)) or 1  # noqa: S311
    redis.set(KEY, f"{header}\n{rows}", ex=seconds)
    redis.delete(LOCK_KEY)


def _read_shared(version: str) -> CatalogListing | None:
    """Return the listing in Redis if it has this version."""
    start = attempt(lambda redis: redis.getrange(KEY, 0, LONGEST_HEADER), default=None)
    if not isinstance(start, bytes) or _label(version).encode() not in start:
        return None
    stored = attempt(lambda redis: redis.get(KEY), default=None)
    if not isinstance(stored, bytes):
        return None
    header, _, rows = stored.partition(b"\n")
    try:
        label, read_at = json.loads(header)
        entries = [ListingEntry(*row) for row in json.loads(rows)]
    except (ValueError, TypeError):
        return None  # damaged: read from Postgres instead
    listing = CatalogListing(version, read_at, {entry.pk: entry for entry in entries})
    return listing if label == _label(version) and not listing.expired else None


def _label(version: str) -> str:
    """Label the version with the fields: other releases may store other fields."""
    return f"{version}/{crc32(' '.join(ListingEntry.__slots__).encode()):x}"


listing_cache = ListingCache(read_entries, catalog_version)
