"""The full listing: light definitions of everything, without anyone's rights.

Each process keeps it as objects, and shares it with the others by Redis, so that a change is read
once from Postgres. What is in Redis may be lost at any time; it says nothing about users or groups.

A listing's rows are read in one statement, so it is never mixed; its label is the catalogue's
version as read just before, so it is never older than its label. A reader asks for the version
that came with the caller's rights.
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
class Entry:
    """One capability as lists show it. The fields are in the order of the stored rows."""

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
    core: bool
    pinned: bool
    tokens: int
    definition_hash: str


@dataclass(frozen=True, slots=True)
class Listing:
    """Everything there was at `version`, by primary key; `read_at` is in seconds since 1970."""

    version: str
    read_at: float
    entries: dict[int, Entry]

    @property
    def expired(self) -> bool:
        """Whether it is read again though its version says that nothing changed: the safety net."""
        age = time.time() - self.read_at
        return age > float(settings.PEGBOARD_LISTING_SECONDS)


class ListingCache:
    """One listing, read once however many ask for it at the same time."""

    def __init__(self, read: Callable[[], list[Entry]], version: Callable[[], str]) -> None:
        self._read_entries = read
        self._read_version = version
        self._held: Listing | None = None
        self._lock = threading.Lock()

    def at(self, version: str) -> Listing:
        """A listing that is as new as `version`, or newer."""
        held = self._held
        if held is not None and held.version == version:
            # Expired, but not wrong: one reader renews it and the others take what there is.
            if not held.expired or not self._lock.acquire(blocking=False):
                return held
        else:
            self._lock.acquire()
        try:
            return self._current()
        finally:
            self._lock.release()

    def clear(self) -> None:
        """Forget the listing, here and in Redis: the next reader reads it from Postgres."""
        with self._lock:
            self._held = None
            attempt(lambda redis: redis.delete(KEY), default=None)

    def _current(self) -> Listing:
        # Read again: while this reader waited, another may have read a newer listing.
        version = self._read_version()
        held = self._held
        if held is None or held.version != version or held.expired:
            held = self._held = self._shared_or_read(version)
        return held

    def _shared_or_read(self, version: str) -> Listing:
        """From Redis; or from Postgres, unless another process is about to share it."""
        deadline = time.monotonic() + LOCK_SECONDS
        while (shared := _shared(version)) is None and time.monotonic() < deadline:
            if attempt(_take_lock, default=True):
                shared = _shared_meanwhile(version)
                break
            time.sleep(POLL_SECONDS * random.uniform(0.5, 1.5))  # noqa: S311 - apart, not secret
        return shared or self._read_and_share(version)

    def _read_and_share(self, version: str) -> Listing:
        read_at = time.time()
        listing = Listing(version, read_at, {entry.pk: entry for entry in self._read_entries()})
        attempt(lambda redis: _share(redis, listing), default=None)
        return listing


def read_entries() -> list[Entry]:
    """All capabilities as Postgres has them, in one statement."""
    computed = {"integration": F("integration__slug"), "integration_title": F("integration__title")}
    columns = [computed.get(name, F(name)) for name in Entry.__slots__]
    return [Entry(*row) for row in Capability.objects.order_by("pk").values_list(*columns)]


def entry_of(row: Capability) -> Entry:
    """The same for a row at hand, whose integration has been read with it."""
    found = {name: getattr(row, name) for name in Entry.__slots__ if hasattr(row, name)}
    shown = {"integration": row.integration.slug, "integration_title": row.integration.title}
    return Entry(**(found | shown))


def _take_lock(redis: Redis) -> bool:
    return bool(redis.set(LOCK_KEY, "1", nx=True, ex=LOCK_SECONDS))


def _shared_meanwhile(version: str) -> Listing | None:
    """Between a reader's look and its lock, whoever held the lock before may have shared."""
    shared = _shared(version)
    if shared is not None:
        attempt(lambda redis: redis.delete(LOCK_KEY), default=None)
    return shared


def _share(redis: Redis, listing: Listing) -> None:
    rows = json.dumps([astuple(entry) for entry in listing.entries.values()])
    header = json.dumps([_label(listing.version), listing.read_at])
    # Apart by up to a tenth, so that not all copies expire at once.
    seconds = int(settings.PEGBOARD_LISTING_SECONDS * random.uniform(0.9, 1)) or 1  # noqa: S311
    redis.set(KEY, f"{header}\n{rows}", ex=seconds)
    redis.delete(LOCK_KEY)


def _shared(version: str) -> Listing | None:
    """The listing in Redis, if it is of this version."""
    start = attempt(lambda redis: redis.getrange(KEY, 0, LONGEST_HEADER), default=None)
    if not isinstance(start, bytes) or _label(version).encode() not in start:
        return None
    stored = attempt(lambda redis: redis.get(KEY), default=None)
    if not isinstance(stored, bytes):
        return None
    header, _, rows = stored.partition(b"\n")
    try:
        label, read_at = json.loads(header)
        entries = [Entry(*row) for row in json.loads(rows)]
    except (ValueError, TypeError):
        return None  # damaged: Postgres has it
    listing = Listing(version, read_at, {entry.pk: entry for entry in entries})
    return listing if label == _label(version) and not listing.expired else None


def _label(version: str) -> str:
    """A release whose entries have other fields does not read what this one wrote."""
    return f"{version}/{crc32(' '.join(Entry.__slots__).encode()):x}"


listing_cache = ListingCache(read_entries, catalog_version)
