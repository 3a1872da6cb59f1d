"""Concurrent people and workers leave nothing unwanted behind."""

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from random import Random
from typing import Any

import pglock
import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from acl.rights.caller_lookup import Caller
from catalog.embedding.jobs import embed_pending
from catalog.formats.descriptors import IntegrationDescriptor
from catalog.locks import definitions_key
from catalog.models import Capability, Definition, Integration, IntegrationGroupPermission
from catalog.models.integration import ReviewState
from marketplace.installs.integration_management import NotReadyError, set_enabled, uninstall
from marketplace.installs.packages.folders import servers_folder
from marketplace.installs.requests import (
    AlreadyInstalledError,
    InProgressError,
    cancel_install,
    retry_install,
)
from marketplace.installs.state import transition
from marketplace.installs.worker import clean_up, install
from marketplace.models import Installation, ListingFile
from tests.connections.evil_server import our_children
from tests.factories import GroupFactory, ListingFactory, UserFactory
from tests.installs.installs import begin, evil

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("embedder", "quick_connections"),
]


def at_once(times: int, what: Callable[[], Any]) -> list[Any]:
    def asked(_: int) -> Any:
        try:
            return what()
        except AlreadyInstalledError:
            return "already there"
        finally:
            connection.close()

    with ThreadPoolExecutor(times) as threads:
        return list(threads.map(asked, range(times)))


def test_one_installation_and_one_result(alice: User) -> None:
    begun = at_once(6, lambda: str(begin(alice, evil())))
    pk = Installation.objects.get().pk

    at_once(4, lambda: install(pk))

    assert Counter(begun) == {"evil queued": 1, "already there": 5}
    assert Installation.objects.get().state == Installation.State.EMBEDDING
    assert list(Capability.objects.values_list("full_name", flat=True)) == ["evil__echo"]
    assert not Integration.objects.get().enabled


def test_second_click_waits_for_the_first_and_shows_its_installation(alice: User) -> None:
    def click() -> Installation:
        return begin(alice, channel(), idempotency_key="k", wait=timedelta(seconds=30))

    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            first = click()
            second = threads.submit(at_once, 1, click)
            wait_for_someone_who_waits()
        shown = second.result()

    assert shown == [first]


def test_second_request_that_does_not_wait_is_told_so(alice: User) -> None:
    def ask() -> Installation:
        return begin(alice, channel(), idempotency_key="k")

    with ThreadPoolExecutor(1) as threads, transaction.atomic():
        ask()
        second = threads.submit(at_once, 1, ask)
        with pytest.raises(InProgressError):
            second.result()


def test_progress_of_what_is_removed_at_the_same_moment_is_lost_without_a_trace(
    alice: User,
) -> None:
    installation = begin(alice, channel())

    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            assert transition(installation, Installation.State.FETCHING)
            removed = threads.submit(remove, alice, installation.integration)
            wait_for_someone_who_waits()
        removed.result()

    assert not Installation.objects.exists()


def test_who_waited_for_what_is_gone_waits_for_what_took_its_place(alice: User) -> None:
    """Otherwise two would write the same row, each in its own order, and deadlock."""
    installation = begin(alice, channel())

    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            uninstall(by=alice, integration=installation.integration)
            other = threads.submit(at_once, 1, lambda: begin(alice, channel()))
            wait_for_someone_who_waits()
            anew = begin(alice, channel()).integration_id
            held = pglock.advisory(definitions_key(anew))  # outlives the transaction
            held.acquire()
        wait_for_someone_who_waits()
        held.release()
        told = other.result()

    assert told == ["already there"]
    assert Installation.objects.count() == 1


def remove(by: User, integration: Integration) -> None:
    """Remove it in a thread with its own connection."""
    try:
        uninstall(by=by, integration=integration)
    finally:
        connection.close()


def wait_for_someone_who_waits() -> None:
    """Wait until a statement of another connection waits for a lock."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_stat_clear_snapshot()"
            )  # otherwise a transaction sees its old snapshot
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            if cursor.fetchone() != (0,):
                return
        time.sleep(0.01)
    raise AssertionError("Nobody waits for anything.")


PEOPLE = 50
SKILL = b"---\nname: greet\ndescription: How to greet people.\n---\nSay hello.\n"


def items() -> list[IntegrationDescriptor]:
    """A server, a skill and a channel."""
    listing = ListingFactory.create(slug="greet", kind="skill")
    ListingFile.objects.create(listing=listing, path="SKILL.md", content=SKILL)
    from_listing = {"listing": "greet"}
    return [
        evil(),
        IntegrationDescriptor("greet", "skill", "Greet", source_ref=from_listing),
        channel(),
    ]


def test_whatever_many_do_at_once_leaves_nothing_behind(alice: User) -> None:
    """REL-9: remaining rows are consistent, and removed ones leave no trace."""
    group, offered = GroupFactory.create(), items()

    def press_buttons(person: int) -> list[str]:
        random, problems = Random(person), []
        try:
            for _ in range(4):
                try:
                    press_one(random, alice, random.choice(offered), group)
                except (AlreadyInstalledError, NotReadyError, Integration.DoesNotExist):
                    pass
                except Exception as problem:
                    problems.append(repr(problem))
            return problems
        finally:
            connection.close()

    with ThreadPoolExecutor(PEOPLE) as threads:
        problems = [one for some in threads.map(press_buttons, range(PEOPLE)) for one in some]
    clean_up()
    in_the_middle = leftovers()
    for installation in Installation.objects.filter(state__in=Installation.WORKING):
        install(installation.pk)
    embed_pending()
    for installation in Installation.objects.filter(state__in=Installation.WORKING):
        install(installation.pk)
    in_the_end = leftovers()
    for integration in Integration.objects.all():
        uninstall(by=alice, integration=integration)
    clean_up()

    assert problems == []
    assert in_the_middle == in_the_end == []
    assert not Capability.objects.exists()
    assert not IntegrationGroupPermission.objects.exists()
    assert not Definition.objects.exists()
    assert [path.name for path in servers_folder().glob("*")] == []
    assert our_children() == []


def press_one(random: Random, by: User, item: IntegrationDescriptor, group: Any) -> None:
    """Do one random action of a person or a worker."""
    last = Installation.objects.filter(integration__slug=item.slug).first()
    what = random.choice(("begin", "work", "work", "cancel", "retry", "off", "on", "remove"))
    if what == "begin" or last is None:
        begin(by, item, groups=[group])
    elif what == "work":
        install(last.pk)
        embed_pending()
        install(last.pk)
    elif what in ("cancel", "retry"):
        with suppress(Installation.DoesNotExist):
            {"cancel": cancel_install, "retry": retry_install}[what](by=by, installation=last)
    elif what == "remove":
        uninstall(by=by, integration=last.integration)
    else:
        set_enabled(by=by, integration=last.integration, enabled=what == "on")


def leftovers() -> list[str]:
    """Return orphaned rows."""
    under_way = (*Installation.WORKING, Installation.State.NEEDS_APPROVAL)
    wanted = Installation.objects.filter(state__in=under_way).values("integration")
    nobodys = Integration.objects.exclude(state=ReviewState.APPROVED).exclude(pk__in=wanted)
    tools = Capability.objects.filter(integration__in=nobodys)
    never_ready = Integration.objects.filter(enabled=True).exclude(state=ReviewState.APPROVED)
    grants = IntegrationGroupPermission.objects.filter(content_object__in=nobodys)
    several = Counter(
        Installation.objects.filter(state__in=under_way).values_list("integration", flat=True)
    )
    return [
        *(f"tool {one}" for one in tools),
        *(f"enabled {one}" for one in never_ready),
        *(f"grant {one.pk}" for one in grants),
        *(f"twice {pk}" for pk, times in several.items() if times > 1),
        *(f"process {name}" for name in our_children()),
    ]


def test_installed_anew_nobody_has_it_from_before(alice: User) -> None:
    group = GroupFactory.create()
    bob = UserFactory.create(username="bob", groups=[group])
    usable = Capability.objects.usable_by(Caller(bob.pk, group.pk))
    seen = []
    for groups in ([group], []):
        installation = begin(alice, channel(), groups=groups)
        install(installation.pk)
        embed_pending()
        install(installation.pk)
        seen.append(usable.count())
        uninstall(by=alice, integration=installation.integration)

    assert seen == [1, 0]


def channel() -> IntegrationDescriptor:
    return IntegrationDescriptor("pager", "channel", "Pager", description="Sends a page.")
