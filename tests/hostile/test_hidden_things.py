"""Hidden things show nowhere, and revoked ones disappear from all routes (ACL-1, ACL-4).

It covers the table of routes: all pages and API routes that answer alice or her group's key.
"""

import re
from collections.abc import Callable
from datetime import timedelta
from difflib import unified_diff
from itertools import count
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acl.audit.recorder import record
from acl.keys.lifecycle import create_key, revoke_key
from acl.models import AccessRequest, ApiKey, Space
from catalog.models import CatalogVersion, Rule
from discovery.select import selector
from tests.access.people import People
from tests.access.ways import change, hide_something
from tests.examples import EXAMPLES_OF_PAGES
from tests.factories import GroupFactory, UserFactory, lay_down, take_away
from tests.hostile.asking import ask, outcomes_of, parts_of, said, words_of
from tests.hostile.places import EVERY
from tests.hostile.routes import ADMIN_PAGE, DJANGO_ADMIN, KEY, KEYS, SIGN_IN, Row
from tests.hostile.tables import undone
from tests.hostile.world import World

# Routes that answer a member or a key of the group, with all methods that read.
ANSWERING = {
    "api/v1/select",
    "api/v1/capabilities/batch",
    "api/v1/meta/<str:name>",
    "api/v1/execute",
}
FOR_MEMBERS = [row for row in EVERY if row.door.is_api or row.door.insider == "alice"]
READING = [row for row in FOR_MEMBERS if "GET" in row.methods or row.route in ANSWERING]
each_reading = pytest.mark.parametrize("row", READING, ids=lambda row: row.route or "/")
THE_TOOL = "mulberry-mail"
EXAMPLE = count(1)
Told = tuple[int, str, int]


def test_there_is_something_to_ask() -> None:
    assert len(READING) >= 12


def _method(row: Row) -> str:
    return "GET" if "GET" in row.methods else "POST"


# Requests of the round before these have made calls: their ids and times are new each time.
LISTING_CALLS = {"calls/", "calls/export.csv", "api/v1/calls", "tools/<slug:full_name>/try/"}
_OF_NEW_CALLS = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{10,17}-[0-9a-f]{32}"
    r"|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+]00:00)?|\d\d:\d\d:\d\d"
)


def _told(world: World, row: Row) -> Told:
    """Return status, text, and number of statements."""
    client = world.client(row.door.insider)
    connection.queries_log.clear()  # it holds 9,000 entries, and counts no further when full
    with CaptureQueriesContext(connection) as statements:
        response = ask(world, client, row, _method(row))
    told = said(response, set())
    if row.route in LISTING_CALLS:
        told = _OF_NEW_CALLS.sub("NEW", told)
    return response.status_code, told, len(statements)


class Answers(dict[str, Told]):
    """Answers by route, without a repr: hypothesis would print all of them."""

    def __repr__(self) -> str:
        return f"{len(self)} answers"


@pytest.fixture
def told_before(world: World, monkeypatch: pytest.MonkeyPatch) -> Answers:
    """All routes' answers in the unchanged world."""
    # Timings are displayed, and always differ.
    monkeypatch.setattr(
        selector._Stopwatch, "finish", lambda watch: dict.fromkeys((*watch.timings, "total"), 1.0)
    )
    with undone():  # requests store turns, too
        return _tell_all(world)


def _tell_all(world: World) -> Answers:
    for row in READING:
        if row.route in {"", "api/v1/names"}:
            _told(world, row)  # fills the caches
    return Answers({row.route: _told(world, row) for row in READING})


# Asking every route is dear, hiding is not: half the worlds, and twice as much hidden in each.
@settings(
    max_examples=(EXAMPLES_OF_PAGES + 1) // 2,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(seed=st.integers(0, 2**32))
def test_what_is_hidden_changes_no_answer_of_any_route(
    world: World, told_before: Answers, seed: int
) -> None:
    random = Random(seed)
    with undone():
        # Rollbacks do not reach caches: no catalogue version may be used twice.
        CatalogVersion.objects.update(number=F("number") + 1000 * next(EXAMPLE))

        for _ in range(random.randint(2, 6)):
            hide_something(as_people(world), random)
        for which in random.sample(range(5), 2):
            hide_someone(world, random, which)

        after = _tell_all(world)
    news = {route: _news(told_before[route], told) for route, told in after.items()}
    assert news == dict.fromkeys(after)


def _news(before: Told, after: Told) -> list[str] | None:
    """Return the lines that differ."""
    if before == after:
        return None
    return [
        f"{before[0]} by {before[2]} statements",
        f"{after[0]} by {after[2]} statements",
        *unified_diff(before[1].splitlines(), after[1].splitlines(), n=0),
    ]


def as_people(world: World) -> People:
    """Return the world as `People` of tests/access."""
    people = SimpleNamespace(
        alice=world.alice,
        bob=world.bob,
        charlie=world.charlie,
        support=world.mulberry,
        finance=world.finance,
        gmail=world.mail,
        wiki=world.payroll,
        payroll=world.payroll,
    )
    return cast(People, people)


def hide_someone(world: World, random: Random, which: int) -> None:
    """Create people and things of theirs that alice and her group's key must not notice."""
    match which:
        case 0:
            UserFactory.create(username=f"dora-{random.random()}", groups=[world.finance])
        case 1:
            group = GroupFactory.create(name=f"a-{random.random()}")
            Space.objects.create(
                group=group, name="x", slug="x", parent=Space.objects.get(group=group, parent=None)
            )
        case 2:
            AccessRequest.objects.create(user=world.bob, group=world.mulberry, wish="A calendar")
        case 3:
            create_key(
                by=None, name="k", group=world.finance, scopes=["select"], acts_for_users=True
            )
        case 4:
            record(by=world.charlie, action="rule.added", target="payroll")


def _deny(world: World) -> None:
    root = Space.objects.get(group=world.mulberry, parent=None)
    Space.objects.filter(slug="mulberry-1").delete()  # its rule is nearer, and allows
    lay_down(Rule.Effect.DENY, world.mail, root)


LOSSES: dict[str, Callable[[World], Any]] = {
    "the grant is revoked": lambda world: take_away(world.mail, world.mulberry),
    "a rule denies it": _deny,
    "the integration is disabled": lambda world: change(world.mail, enabled=False),
    "the integration is quarantined": lambda world: change(world.mail, state="quarantined"),
    "its capabilities are blocked": lambda world: world.mail.capabilities.update(
        ai_access="blocked"
    ),
    "the integration is uninstalled": lambda world: world.mail.delete(),
    "alice leaves the group": lambda world: world.alice.groups.clear(),
    "alice is deactivated": lambda world: change(world.alice, is_active=False),
    "the group is removed": lambda world: world.mulberry.delete(),
}


# A secret belongs to a person and to no space: a rule of any of their spaces leads to these pages.
OF_ANY_SPACE = {"tools/connections/", "tools/connections/<slug:slug>/"}


@each_reading
def test_what_is_taken_away_is_gone_from_the_next_request(world: World, row: Row) -> None:
    client, sent = world.client(row.door.insider), words_of(parts_of(world, row))
    if row.door in (KEY, KEYS):
        return  # shows admins everything, not what a user may use
    if THE_TOOL not in said(ask(world, client, row, _method(row)), set()):
        return  # reveals nothing about tools

    still = []
    for name, lose in LOSSES.items():
        with undone():
            if row.route in OF_ANY_SPACE:
                Space.objects.filter(slug="mulberry-1").delete()
            lose(world)
            if THE_TOOL in said(ask(world, client, row, _method(row)), sent):
                still.append(name)

    assert still == []


KEY_LOSSES: dict[str, Callable[[World], Any]] = {
    "revoked": lambda world: revoke_key(by=None, key=_own(world)),
    "expired": lambda world: ApiKey.objects.filter(pk=_own(world).pk).update(
        expires_at=Now() - timedelta(days=1)
    ),
    "its group removed": lambda world: world.mulberry.delete(),
    "its owner deactivated": lambda world: (
        ApiKey.objects.filter(pk=_own(world).pk).update(owner=world.bob),
        User.objects.filter(pk=world.bob.pk).update(is_active=False),
    ),
}


def _own(world: World) -> ApiKey:
    return ApiKey.objects.select_related("owner").get(name="own")


@pytest.mark.parametrize("lose", KEY_LOSSES.values(), ids=KEY_LOSSES)
def test_a_lost_key_opens_no_call(world: World, lose: Callable[[World], Any]) -> None:
    client = world.client("own key")
    calls = [(row, method) for row in EVERY if row.door.is_api for method in row.methods.split()]
    assert ask(world, client, calls[0][0], calls[0][1]).status_code == 200

    lose(world)

    answers = {(row.route, method): ask(world, client, row, method) for row, method in calls}
    assert {call for call, answer in answers.items() if answer.status_code != 401} == set()


PERSON_LOSSES: dict[str, tuple[dict[str, bool], set[int | str]]] = {
    "no longer an admin": ({"is_staff": False, "is_superuser": False}, {404, SIGN_IN}),
    "deactivated": ({"is_active": False}, {SIGN_IN}),
}


@pytest.mark.parametrize(("values", "expected"), PERSON_LOSSES.values(), ids=PERSON_LOSSES)
def test_an_admin_who_is_none_any_longer_sees_no_page_of_admins(
    world: World, values: dict[str, bool], expected: set[int | str]
) -> None:
    client = world.client("root")
    assert client.get("/access/").status_code == 200
    rows = [row for row in EVERY if row.door in (ADMIN_PAGE, DJANGO_ADMIN)]

    User.objects.filter(pk=world.root.pk).update(**values)

    open_still = [
        f"{row.route} {method}"
        for row in rows
        for sent in [words_of(parts_of(world, row))]
        # The same check guards each view of Django's admin, whatever the method.
        for method in (["GET"] if row.door is DJANGO_ADMIN else row.methods.split())
        if not outcomes_of(ask(world, client, row, method), sent) & expected
    ]
    assert open_still == []
