"""Rights at a past moment: what is said later of a moment is what was answered in it.

Changes are raw statements, cascades and services alike, since the database keeps the record.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from acl.models import AuditEntry, RightsPeriod
from acl.rights.caller_lookup import Caller
from acl.rights.past import MomentUnknown, parse_moment, past_moment, rights_at
from catalog.models import Capability, Integration, RuntimeCapability
from tests.access.people import People
from tests.access.random_worlds import (
    CAPABILITIES,
    GROUPS,
    INTEGRATIONS,
    USERS,
    callers_of,
    random_world,
    united_callers,
)
from tests.access.raw_changes import some_change
from tests.access.worlds import explained, store, stored_holders, usable
from tests.databases import as_superuser
from tests.examples import EXAMPLES_OF_STORIES
from tests.factories import UserFactory
from tests.sessions import session_of

CHANGES = 15
AT_ONCE = 3  # an example asks again about all moments
EXPLAIN, REACH = "/api/v1/access/explain", "/api/v1/access/reach"
HOLDERS = "/api/v1/access/holders"
SEND = "gmail__send_email"


def clock() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment


def changed(random: Random) -> None:
    """Change something: by one raw statement, or with everything that goes with it."""
    cascades: list[Callable[[], Any]] = [
        lambda: Group.objects.filter(pk=random.choice(GROUPS)).delete(),
        lambda: User.objects.filter(pk=random.choice(USERS)).delete(),
        lambda: Integration.objects.filter(pk=random.choice(INTEGRATIONS)).delete(),
        lambda: Capability.objects.filter(pk=random.choice(CAPABILITIES)).delete(),
    ]
    if random.random() < 0.15:
        random.choice(cascades)()
        return
    statement = some_change(random)
    while statement.startswith("UPDATE auth_permission"):  # what a permission means is not kept
        statement = some_change(random)
    as_superuser(statement)


def answers_of(callers: list[Caller], united: list[Caller]) -> dict[str, Any]:
    """Return what each surface answers: the statement, Explain and the holders."""
    return {
        "usable": {caller: usable(caller) for caller in (*callers, *united)},
        "explained": {caller: explained(caller, CAPABILITIES) for caller in callers},
        "held": {
            (pk, application): stored_holders(pk, application)
            for pk in CAPABILITIES
            for application in (None, 1)
        },
    }


@pytest.mark.django_db
@settings(max_examples=EXAMPLES_OF_STORIES, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_what_is_said_of_a_moment_is_what_was_answered_in_it(seed: int) -> None:
    random = Random(seed)
    world = random_world(random)
    callers, united = callers_of(world, random)[:5], united_callers(random)[:2]
    history: list[tuple[datetime, dict[str, Any]]] = []

    with transaction.atomic():
        store(world)
        for _ in range(CHANGES):
            for _ in range(random.randrange(1, AT_ONCE)):
                try:
                    with transaction.atomic():
                        changed(random)
                        transaction.set_rollback(random.random() < 0.2)
                except DatabaseError:  # what a raw statement broke off has never been
                    continue
            history.append((clock(), answers_of(callers, united)))
        said = []
        for moment, _live in random.sample(history, len(history)):
            with rights_at(moment):
                said.append((moment, answers_of(callers, united)))
        now = answers_of(callers, united)
        transaction.set_rollback(True)

    assert dict(said) == dict(history)
    assert now == history[-1][1]


@pytest.mark.django_db
def test_what_ends_by_the_clock_ended_then(people: People) -> None:
    end = clock() + timedelta(seconds=1)
    RuntimeCapability.objects.create(
        integration=people.gmail,
        name="send_email",
        full_name=SEND,
        group=people.support,
        expires_at=end,
    )
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(extract(epoch FROM %s - clock_timestamp()))", [end])

    with rights_at(end - timedelta(microseconds=1)):
        had = people.send.pk in usable(people.caller)
    with rights_at(end):
        has = people.send.pk in usable(people.caller)

    assert (had, has) == (True, False)


@pytest.fixture
def staff(people: People) -> Client:
    return session_of(UserFactory.create(username="root", is_staff=True))


@pytest.mark.django_db
@pytest.mark.parametrize("gone", ["person", "group", "integration", "capability"])
def test_who_could_have_called_is_told_after_everything_is_gone(
    people: People, staff: Client, gone: str
) -> None:
    at = clock().isoformat()
    before = [staff.get(HOLDERS, {"capability": SEND}).json()]
    question = {"user": "alice", "group": "support", "capability": SEND}
    before += [staff.get(EXPLAIN, question).json(), staff.get(REACH, {"user": "alice"}).json()]
    things: dict[str, Any] = {
        "person": people.alice,
        "group": people.support,
        "integration": people.gmail,
        "capability": people.send,
    }
    things[gone].delete()

    after = [staff.get(HOLDERS, {"capability": SEND, "at": at}).json()]
    after += [staff.get(EXPLAIN, {**question, "at": at}).json()]
    after += [staff.get(REACH, {"user": "alice", "at": at}).json()]

    before[1] |= {"readiness": None, "readiness_reason": None, "mend_path": ""}
    assert after == before
    assert [item["user"] for item in after[0]["items"]] == ["alice", "bob"]


@pytest.mark.django_db
def test_whoever_asks_is_judged_by_now(people: People) -> None:
    at = clock().isoformat()
    client = session_of(people.alice)
    own = client.get(REACH, {"at": at}).json()["count"]
    other = client.get(REACH, {"user": "bob", "at": at}).status_code
    holders = client.get(HOLDERS, {"capability": SEND, "at": at}).status_code

    User.objects.filter(pk=people.alice.pk).update(is_active=False)

    assert (own, other, holders) == (3, 403, 403)
    assert client.get(REACH, {"at": at}).status_code == 401


@pytest.mark.django_db
def test_a_look_at_the_past_is_recorded(people: People, staff: Client) -> None:
    at = clock().isoformat()

    staff.get(EXPLAIN, {"user": "alice", "capability": SEND, "at": at})

    entry = AuditEntry.objects.get(action="person.looked_as")
    assert (entry.target, entry.details) == ("alice", {"where": "access-explain"})


@pytest.mark.django_db
def test_what_cannot_be_known_is_said(people: People, staff: Client) -> None:
    def refusal(at: str) -> str:
        answer = staff.get(HOLDERS, {"capability": SEND, "at": at})
        assert answer.status_code == 400
        return str(answer.json()["errors"])

    assert "Rights are recorded since" in refusal("2020-03-03")
    assert "has not come yet" in refusal(f"{clock() + timedelta(days=2):%Y-%m-%d}")
    assert "Enter a date" in refusal("yesterday") == refusal("2026-13-45")
    assert staff.get(HOLDERS, {"capability": SEND, "at": f"{clock():%Y-%m-%d}"}).status_code == 200


@pytest.mark.django_db
def test_forgotten_periods_are_said_to_be_unknown_and_the_rest_stays(people: People) -> None:
    as_superuser(  # emptying the tables between tests has taken the mark of the beginning along
        "INSERT INTO acl_rightsperiod (\"table\", key, facts, began) SELECT '', 0, '{}', now()"
        " WHERE NOT EXISTS (SELECT FROM acl_rightsperiod WHERE \"table\" = '')",
        "UPDATE acl_rightsperiod SET began = began - interval '9 days'",
    )
    middle = clock()
    Integration.objects.filter(pk=people.gmail.pk).update(enabled=False)
    last = clock()

    with connection.cursor() as cursor:
        cursor.execute("SELECT acl_forget_periods(%s, 1000)", [middle + (last - middle) / 2])
    with rights_at(last):
        then = usable(people.caller)

    assert then == usable(people.caller)
    with pytest.raises(MomentUnknown):
        rights_at(middle - timedelta(days=1)).__enter__()
    assert not RightsPeriod.objects.filter(ended__lte=middle).exists()


def test_a_date_is_the_end_of_its_day_and_a_moment_is_itself() -> None:
    assert parse_moment("") is None
    assert parse_moment("2026-03-03T10:00:00+01:00") == datetime.fromisoformat(
        "2026-03-03T09:00:00+00:00"
    )


@pytest.mark.django_db
def test_after_the_block_it_is_now_again(people: People) -> None:
    moment = clock()
    people.gmail.delete()
    with rights_at(moment):
        within = past_moment(), Integration.objects.filter(slug="gmail").exists()

    assert within == (moment, True)
    assert (past_moment(), Integration.objects.filter(slug="gmail").exists()) == (None, False)
    assert timezone.now() > moment


@pytest.mark.django_db
@pytest.mark.parametrize(
    "page", ["/access/tools/gmail__send_email/", "/access/people/{alice}/", "/access/explain/"]
)
def test_pages_answer_for_the_moment_of_their_field(
    people: People, staff: Client, page: str
) -> None:
    address = page.format(alice=people.alice.pk)
    query = {"user": "alice", "capability": SEND, "group": str(people.support.pk)}
    moment = clock()
    before = staff.get(address, {**query, "at": "2020-03-03"})
    people.gmail.delete()

    then = staff.get(address, {**query, "at": moment.isoformat()})

    assert "As it was at" in then.content.decode()
    assert SEND in then.content.decode()
    assert "Rights are recorded since" in before.content.decode()
    assert "As it was at" not in before.content.decode()
