"""The cached listing: consistent, current, read once, and optional."""

import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from pytest_django import DjangoAssertNumQueries, Settings
from redis import Redis

from acl.platform.redis_circuit import redis_circuit, redis_client
from catalog.capabilities import listing_cache
from catalog.capabilities.catalog_queries import list_capabilities, list_categories, list_names
from catalog.capabilities.listing_cache import KEY, ListingCache, ListingEntry
from catalog.models import Capability, Integration
from tests.access.people import People
from tests.factories import CapabilityFactory


class Postgres:
    """A stand-in for the database, counting full reads."""

    def __init__(self, *, seconds: float = 0) -> None:
        self.version = "1-1"
        self.reads = 0
        self._seconds = seconds
        self._lock = threading.Lock()

    def read(self) -> list[ListingEntry]:
        with self._lock:
            self.reads += 1
        found = [entry(self.version)]
        time.sleep(self._seconds)
        return found

    def process(self) -> ListingCache:
        """Return the cache of another process."""
        return ListingCache(self.read, lambda: self.version)


def entry(version: str) -> ListingEntry:
    texts: dict[str, Any] = dict.fromkeys(ListingEntry.__slots__, "")
    return ListingEntry(**(texts | {"pk": 1, "full_name": version, "tags": ["ß"]}))


@pytest.fixture(autouse=True)
def _nothing_shared() -> None:
    redis_client().delete(KEY, listing_cache.LOCK_KEY)


@pytest.fixture
def _redis_away(settings: Settings, tmp_path: Path) -> None:
    settings.REDIS_URL = f"unix://{tmp_path / 'nobody-listens.sock'}"


def ask_together(asks: list[Callable[[], Any]]) -> list[Any]:
    """Ask concurrently, each in its own thread."""
    barrier = threading.Barrier(len(asks))

    def at_once(ask: Callable[[], Any]) -> Any:
        barrier.wait()
        return ask()

    with ThreadPoolExecutor(len(asks)) as pool:
        return list(pool.map(at_once, asks))


def test_hundred_readers_in_four_processes_read_postgres_twice_at_most(
    settings: Settings,
) -> None:
    settings.PEGBOARD_REDIS_TIMEOUT_MS = 10_000  # a hundred threads on a busy machine are slow
    postgres = Postgres(seconds=0.1)
    processes = [postgres.process() for _ in range(4)]

    listings = ask_together([partial(own.at, "1-1") for own in processes * 25])

    assert postgres.reads <= 2
    assert {listing.entries[1].full_name for listing in listings} == {"1-1"}


def test_hundred_readers_of_an_expired_listing_read_postgres_twice_at_most(
    settings: Settings,
) -> None:
    """REL-15: one reader renews it; the others take the old one, which is still valid."""
    settings.PEGBOARD_REDIS_TIMEOUT_MS = 10_000
    postgres = Postgres(seconds=0.1)
    processes = [postgres.process() for _ in range(4)]
    for own in processes:
        held = own.at("1-1")
        own._listing = replace(held, read_at=0)
    redis_client().delete(KEY)
    read_before = postgres.reads

    listings = ask_together([partial(own.at, "1-1") for own in processes * 25])

    assert read_before == 1
    assert postgres.reads - read_before <= 2
    assert {listing.entries[1].full_name for listing in listings} == {"1-1"}


def test_what_is_shared_between_a_look_and_the_lock_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    postgres, take = Postgres(), listing_cache._take_lock
    late = postgres.process()

    def take_late(redis: Redis) -> bool:
        monkeypatch.setattr(listing_cache, "_take_lock", take)
        postgres.process().at("1-1")
        return take(redis)

    monkeypatch.setattr(listing_cache, "_take_lock", take_late)
    late.at("1-1")

    assert postgres.reads == 1
    assert not redis_client().exists(listing_cache.LOCK_KEY)


@pytest.mark.usefixtures("_redis_away")
def test_without_redis_each_process_reads_once() -> None:
    postgres = Postgres(seconds=0.05)
    processes = [postgres.process() for _ in range(2)]

    ask_together([partial(own.at, "1-1") for own in processes * 20])

    assert postgres.reads == 2


def test_another_process_takes_the_listing_from_redis() -> None:
    postgres = Postgres()
    postgres.process().at("1-1")

    listing = postgres.process().at("1-1")

    assert postgres.reads == 1
    assert listing.entries == {1: entry("1-1")}


def test_new_version_is_read_and_those_who_waited_share_it() -> None:
    postgres = Postgres(seconds=0.05)
    process = postgres.process()
    process.at("1-1")
    postgres.version = "2-2"

    listings = ask_together([lambda: process.at("2-2") for _ in range(20)])
    late = process.at("1-1")  # it learned of the old version just before

    assert postgres.reads == 2
    assert {listing.version for listing in [*listings, late]} == {"2-2"}


def test_expired_listing_is_renewed_by_one_while_the_others_go_on(
    settings: Settings,
) -> None:
    postgres = Postgres(seconds=0.2)
    process = postgres.process()
    first = process.at("1-1")
    settings.PEGBOARD_LISTING_SECONDS = -1
    redis_client().delete(KEY)

    listings = ask_together([lambda: process.at("1-1") for _ in range(10)])

    assert postgres.reads == 2
    assert sum(listing is first for listing in listings) == 9


@pytest.mark.parametrize(
    "stored", [b"", b"{", b'["%s", 9e99]\n[[1, 2]]', b'["%s", 9e99]\n{', b'["%s"]\n[]']
)
def test_damaged_listing_in_redis_is_read_again(stored: bytes) -> None:
    postgres = Postgres()
    label = listing_cache._label("1-1").encode()
    redis_client().set(KEY, stored.replace(b"%s", label))

    listing = postgres.process().at("1-1")

    assert listing.entries == {1: entry("1-1")}


def test_reader_that_died_holds_the_others_up_for_a_while_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listing_cache, "LOCK_SECONDS", 0.2)
    redis_client().set(listing_cache.LOCK_KEY, "someone who died")
    postgres = Postgres()

    postgres.process().at("1-1")

    assert postgres.reads == 1


def test_redis_that_swallows_calls_is_asked_three_times_and_then_left_alone(
    settings: Settings, tmp_path: Path
) -> None:
    settings.REDIS_URL = f"unix://{tmp_path / 'black-hole.sock'}"
    with socket.socket(socket.AF_UNIX) as black_hole:
        black_hole.bind(str(tmp_path / "black-hole.sock"))
        black_hole.listen(50)
        black_hole.setblocking(False)

        listings = [Postgres().process().at("1-1") for _ in range(20)]

        assert len(listings) == 20
        assert sum(1 for _ in iter(lambda: has_called(black_hole), False)) == 3


def has_called(black_hole: socket.socket) -> bool:
    try:
        black_hole.accept()[0].close()
    except BlockingIOError:
        return False
    return True


CHANGES: dict[str, Callable[[People], object]] = {
    "saved, as by the admin": lambda people: rename(people),
    "updated": lambda people: Capability.objects.filter(pk=people.send.pk).update(
        display_name="New"
    ),
    "changed by hand in SQL": lambda people: connection.cursor().execute(
        "UPDATE catalog_capability SET display_name = 'New' WHERE id = %s", [people.send.pk]
    ),
}


def rename(people: People) -> None:
    people.send.display_name = "New"
    people.send.save()


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_change_shows_in_the_next_answer(
    people: People, change: Callable[[People], object]
) -> None:
    list_names(caller=people.caller)

    change(people)

    page = list_capabilities(caller=people.caller)
    assert "New" in {item["display_name"] for item in page.items}


def test_new_and_deleted_capabilities_show_in_the_next_answer(people: People) -> None:
    list_names(caller=people.caller)

    CapabilityFactory.create(integration=people.gmail, action="archive")
    people.search.delete()

    names, _ = list_names(caller=people.caller)
    assert names == ("gmail__archive", "gmail__send_email", "wiki__read_page")


def test_renamed_integration_shows_in_the_next_answer(people: People) -> None:
    list_names(caller=people.caller)

    Integration.objects.filter(pk=people.gmail.pk).update(slug="mail")

    page = list_capabilities(caller=people.caller)
    assert {item["integration"] for item in page.items} == {"mail", "wiki"}


def test_change_that_was_rolled_back_leaves_no_trace(people: People) -> None:
    with transaction.atomic():
        Capability.objects.filter(pk=people.send.pk).update(category="wrong")
        list_categories(caller=people.caller)
        transaction.set_rollback(True)

    # The next change gets the number of the lost one.
    Capability.objects.filter(pk=people.send.pk).update(category="right")

    categories, _ = list_categories(caller=people.caller)
    assert {each.category for each in categories} == {"other", "right", "search"}


@pytest.mark.usefixtures("_redis_away")
def test_lists_answer_without_redis(people: People) -> None:
    names, _ = list_names(caller=people.caller)

    assert names == ("gmail__search", "gmail__send_email", "wiki__read_page")
    assert redis_circuit.failing


def test_second_answer_costs_one_statement(
    people: People, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    list_names(caller=people.caller)
    list_names(caller=people.stranger)

    with django_assert_num_queries(1):
        list_categories(caller=people.stranger)


def test_redis_holds_definitions_and_nobodys_rights(people: People) -> None:
    list_names(caller=people.caller)
    list_names(caller=people.stranger)

    keys = set(redis_client().scan_iter("tool_catalog*"))
    stored = redis_client().get(KEY)
    assert keys == {KEY.encode()}
    assert isinstance(stored, bytes)
    assert b"payroll__pay" in stored
    assert b"gmail__send_email" in stored
    assert not any(word in stored for word in (b"alice", b"charlie", b"support", b"finance"))
