"""Approvers: an asker cannot decide, by any credential or account."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from acl.keys.lifecycle import create_key
from acl.models import ApiKey
from acl.people.people import create_service_account
from acl.rights.approvers import NOBODY_ELSE, Approver, eligibility_of
from catalog.models import Capability
from discovery.models import Call
from tests.access.people import People
from tests.examples import EXAMPLES
from tests.factories import UserFactory, waiting_call
from tests.rights.conftest import Staff, session_of

KIND = "application/json"
SEND = {"name": "gmail__send_email", "arguments": {"text": "hello"}}


@pytest.fixture(autouse=True)
def _asks_first(people: People, request: pytest.FixtureRequest) -> None:
    if "staff" in request.fixturenames:  # a key's owner is a member of its group
        request.getfixturevalue("staff").root.groups.add(people.support)
    Capability.objects.filter(pk=people.send.pk).update(ai_access="propose")


def key_with(
    group: Group,
    *scopes: str,
    owner: User | None = None,
    created_by: User | None = None,
    made_with: ApiKey | None = None,
) -> tuple[ApiKey, Client]:
    key, raw = create_key(
        by=None,
        name="k",
        group=group,
        scopes=list(scopes),
        owner=owner,
        acts_for_users="execute" in scopes,
    )
    ApiKey.objects.filter(pk=key.pk).update(created_by=created_by, made_with=made_with)
    return key, Client(headers={"Authorization": f"Bearer {raw}", "X-Request-ID": "story"})


def ask(client: Client, **more: Any) -> str:
    answer = client.post("/api/v1/execute", {**SEND, **more}, KIND)
    assert answer.status_code == 202, answer.content
    return str(answer.json()["call_id"])


def approve_by_api(client: Client, call: str) -> int:
    path = f"/api/v1/approvals/{call}"
    read = client.get(path)
    if read.status_code != 200:
        return read.status_code
    return client.post(f"{path}/approve", {"digest": read.json()["digest"]}, KIND).status_code


def approve_on_page(client: Client, call: str) -> int:
    digest = client.get(f"/api/v1/approvals/{call}").json()["digest"]
    return client.post(f"/approvals/{call}/", {"approve": "1", "digest": digest}).status_code


def waits(call: str) -> bool:
    return Call.objects.get(pk=call).state == Call.State.WAITING


def test_subject_actor_owner_and_creator_cannot_decide_by_any_door(
    people: People, staff: Staff
) -> None:
    """hugo asks for grace in a session; root's key asks for her; a key that hugo created asks."""
    support = people.support
    asked = [
        (ask(session_of(staff.hugo), user="grace"), {"hugo", "grace"}),
        (ask(key_with(support, "execute", owner=staff.grace)[1], user="alice"), {"grace"}),
        (
            ask(key_with(support, "execute", created_by=staff.hugo)[1], user="alice"),
            {"hugo"},
        ),
    ]
    parent, _ = key_with(support, "admin", owner=staff.grace)
    minted = key_with(support, "execute", created_by=None, made_with=parent)
    asked.append((ask(minted[1], user="alice"), {"grace"}))

    for call, askers in asked:
        for person in (staff.grace, staff.hugo):
            browser = session_of(person)
            _, admin_key = key_with(support, "admin", owner=person, created_by=person)
            if person.username in askers:
                assert approve_by_api(browser, call) == 403
                assert approve_on_page(browser, call) == 409
                assert approve_by_api(admin_key, call) == 403
                item = browser.get(f"/api/v1/approvals/{call}").json()
                assert item["objection"]
        assert waits(call)
        assert approve_by_api(session_of(staff.root), call) == 200


@pytest.mark.parametrize("link", ["owned", "created", "minted", "minted twice"])
def test_credential_of_the_asker_cannot_decide(people: People, staff: Staff, link: str) -> None:
    """grace asks; the deciding key belongs to root, but grace made it."""
    call = ask(session_of(staff.grace))
    own, _ = key_with(people.support, "admin", owner=staff.grace)
    child, _ = key_with(people.support, "admin", owner=staff.root, made_with=own)
    links: dict[str, dict[str, Any]] = {
        "owned": {"owner": staff.grace},
        "created": {"owner": staff.root, "created_by": staff.grace},
        "minted": {"owner": staff.root, "made_with": own},
        "minted twice": {"owner": staff.root, "made_with": child},
    }
    _, client = key_with(people.support, "admin", **links[link])
    _, other = key_with(people.support, "admin", owner=staff.root, created_by=staff.root)

    assert approve_by_api(client, call) == 403
    assert waits(call)
    assert approve_by_api(other, call) == 200


def test_whoever_created_a_key_of_a_service_account_stands_behind_it(
    people: People, staff: Staff
) -> None:
    robot = create_service_account(by=None, name="robot", groups=[people.support])
    key_with(people.support, "select", owner=robot, created_by=staff.grace)
    _, client = key_with(people.support, "execute", owner=robot, created_by=staff.hugo)
    call = ask(client, user="alice")

    assert approve_by_api(session_of(staff.grace), call) == 403
    assert approve_by_api(session_of(staff.hugo), call) == 403
    assert approve_by_api(session_of(staff.root), call) == 200


def test_single_admin_is_told_what_to_do(people: People, settings: Settings) -> None:
    admin = UserFactory.create(username="only", is_staff=True, groups=[people.support])
    browser = session_of(admin)

    answer = browser.post("/api/v1/execute", SEND, KIND)
    call = answer.json()["call_id"]
    page = browser.get(f"/approvals/{call}/").content.decode()
    inbox = browser.get("/approvals/").content.decode()
    refused = approve_by_api(browser, call)
    settings.PEGBOARD_SELF_APPROVAL = True
    _, own_key = key_with(people.support, "admin", owner=admin)
    by_key = approve_by_api(own_key, call)

    assert answer.status_code == 202
    assert NOBODY_ELSE in answer.json()["message"]
    assert NOBODY_ELSE in page
    assert "Only the requester could approve this call" in inbox
    assert 'aria-label="1 waits"' in inbox or "1" in inbox
    assert (refused, by_key) == (403, 403)
    assert NOBODY_ELSE not in browser.get(f"/approvals/{call}/").content.decode()
    assert approve_by_api(browser, call) == 200


def test_second_admin_ends_the_hint(people: People) -> None:
    admin = UserFactory.create(username="only", is_staff=True, groups=[people.support])
    call = ask(session_of(admin))
    UserFactory.create(username="second", is_staff=True)

    answer = session_of(admin).get(f"/api/v1/calls/{call}").json()

    assert NOBODY_ELSE not in answer["message"]


def test_count_and_list_follow_the_same_rule(people: People, staff: Staff) -> None:
    ask(session_of(people.alice))
    ask(session_of(staff.grace))

    def seen(person: User) -> tuple[int, list[bool]]:
        browser = session_of(person)
        items = browser.get("/api/v1/approvals").json()["items"]
        from discovery.calls.approvals import count_waiting

        return count_waiting(by=person).calls, [bool(item["objection"]) for item in items]

    assert seen(staff.grace) == (1, [False, True])
    assert seen(staff.hugo) == (2, [False, False])


@st.composite
def worlds(draw: st.DrawFn) -> dict[str, Any]:
    """Draw people by number, keys with owner, creator and maker, a call, and an approver."""
    person = st.integers(0, 3)
    maybe = st.none() | person
    count = draw(st.integers(0, 4))
    keys = [
        (draw(maybe), draw(maybe), draw(st.none() | st.integers(0, place - 1)) if place else None)
        for place in range(count)
    ]
    some_key = st.none() | st.integers(0, count - 1) if count else st.none()
    return {
        "programs": draw(st.sets(person, max_size=2)),
        "keys": keys,
        "call": (draw(person), draw(maybe), draw(some_key)),
        "approver": (draw(person), draw(some_key)),
    }


def closure(world: dict[str, Any], people: set[int], keys: set[int]) -> set[tuple[str, int]]:
    """Compute the closure in plain Python: add linked identities until none is new."""
    found = {("person", one) for one in people} | {("key", one) for one in keys}
    while True:
        more = set(found)
        for kind, one in found:
            if kind == "key":
                owner, creator, maker = world["keys"][one]
                more |= {("person", each) for each in (owner, creator) if each is not None}
                more |= {("key", maker)} if maker is not None else set()
            elif one in world["programs"]:
                more |= {("key", n) for n, key in enumerate(world["keys"]) if key[0] == one}
        if more == found:
            return found
        found = more


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(world=worlds())
def test_no_approver_is_in_the_chain_of_the_askers(people: People, world: dict[str, Any]) -> None:
    from django.db import transaction

    with transaction.atomic():
        persons = [UserFactory.create(is_staff=True) for _ in range(4)]
        for number in world["programs"]:
            persons[number] = create_service_account(
                by=None, name=f"robot-{number}", groups=[people.support]
            )
        keys: list[ApiKey] = []
        for place, (owner, creator, maker) in enumerate(world["keys"]):
            keys.append(
                ApiKey.objects.create(
                    name="k",
                    scopes=["admin"],
                    prefix=f"pb_{place}",
                    digest=f"{place}",
                    owner=None if owner is None else persons[owner],
                    created_by=None if creator is None else persons[creator],
                    made_with=None if maker is None else keys[maker],
                )
            )
        user, actor, key = world["call"]
        call = waiting_call(persons[user], people.support, people.send, "hello")
        call.actor = None if actor is None else persons[actor]
        call.key = None if key is None else keys[key]
        person, with_key = world["approver"]
        approver = Approver(persons[person].pk, None if with_key is None else keys[with_key].pk)

        verdict = eligibility_of([call], approver)[call.pk]

        askers = closure(
            world,
            {user} | ({actor} if actor is not None else set()),
            {key} if key is not None else set(),
        )
        own = closure(world, {person}, {with_key} if with_key is not None else set())
        allowed = not (askers & own) and person not in world["programs"]
        assert (verdict.objection == "") == allowed
        transaction.set_rollback(True)
