"""Pages and lists of runtime capabilities, and their expiry by the clock of each statement."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import DurationField, F, Value
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext

from acl.keys.lifecycle import create_key
from acl.models import Space
from acl.platform.database_work import database_now
from catalog.access.explanation import explain
from catalog.access.usable_ids import usable_ids
from catalog.capabilities.catalog_queries import list_names
from catalog.capabilities.runtime_state import WrongStateError, approve, promote, retire_expired
from catalog.models import Capability, Definition, Rule, RuntimeCapability
from catalog.registration.definition_review import (
    NotReadableError,
    approve_definitions,
    list_waiting,
    reject_definitions,
    seen_digest,
)
from discovery.answer.tiers import read_categories
from tests.access.people import People
from tests.factories import UserFactory, lay_down
from tests.runtime.conftest import HAIKU, HIDDEN, SUM_UP, WHISPER, key_of, post, without_name
from tests.sessions import session_of

pytestmark = pytest.mark.django_db

LIST = "/tools/runtime/"


@pytest.fixture
def name(people: People) -> str:
    return str(post(key_of(people.alice), HAIKU).json()["full_name"])


def seen_by(user: User, **query: str) -> str:
    client = session_of(user)
    return str(client.get(LIST, query).content.decode())


def decide(admin: Client, name: str, decision: str, **body: Any) -> Any:
    return admin.post(f"{LIST}{name}/{decision}/", body)


def test_group_sees_what_it_made_and_others_do_not(people: People, name: str) -> None:
    assert name in seen_by(people.alice)
    assert name in seen_by(people.bob)
    assert "haiku" not in seen_by(people.charlie)
    assert f"{name}/retire/" not in seen_by(people.alice)


def test_denied_one_is_seen_by_its_owner_only(people: People, name: str) -> None:
    root = Space.objects.get(group=people.support, parent=None)
    lay_down(Rule.Effect.DENY, Capability.objects.get(full_name=name), root)

    assert (name in seen_by(people.alice), name in seen_by(people.bob)) == (True, False)


def test_waiting_one_shows_no_text_and_only_to_its_owner(people: People, admin: Client) -> None:
    made = post(key_of(people.alice), {**HAIKU, "description": HIDDEN}).json()["full_name"]

    own, others = seen_by(people.alice), seen_by(people.bob)

    assert ("Awaiting review" in own, made in others) == (True, False)
    listed = admin.get(LIST).content.decode()
    assert f"/integrations/{made.partition('__')[0]}/review/" in listed
    assert f"{made}/approve/" not in listed


def test_admin_approves_promotes_and_retires(people: People, name: str, admin: Client) -> None:
    page = admin.get(f"{LIST}{name}/approve/").content.decode()
    seen = Capability.objects.get(full_name=name).definition_hash
    assert seen in page
    assert HAIKU["content"] in page

    states = [RuntimeCapability.objects.get().state]
    decisions: list[tuple[str, dict[str, Any]]] = [
        ("approve", {"seen": seen}),
        ("promote", {"groups": [people.finance.pk]}),
        ("retire", {}),
    ]
    for decision, body in decisions:
        assert decide(admin, name, decision, **body).status_code == 302
        states.append(RuntimeCapability.objects.get().state)

    assert states == ["proposed", "approved", "promoted", "retired"]


def test_other_text_than_the_one_shown_is_not_approved(
    people: People, name: str, admin: Client
) -> None:
    answer = decide(admin, name, "approve", seen="0" * 64)

    assert answer.status_code == 409
    assert "Check it again" in answer.content.decode()
    assert RuntimeCapability.objects.get().state == "proposed"


@pytest.mark.parametrize("groups", [[], ["987654"], ["x"]])
def test_promotion_needs_existing_groups(
    people: People, name: str, admin: Client, groups: list[str]
) -> None:
    RuntimeCapability.objects.update(state="approved")

    answer = decide(admin, name, "promote", groups=groups)

    assert answer.status_code == 422
    assert RuntimeCapability.objects.get().state == "approved"


def test_unknown_names_and_decisions_are_not_there(name: str, admin: Client) -> None:
    paths = (f"{LIST}no__such/retire/", f"{LIST}{name}/delete/")

    assert [admin.get(path).status_code for path in paths] == [404, 404]


def test_filters_find_by_status_group_and_words(people: People, name: str, admin: Client) -> None:
    other = post(key_of(people.charlie), SUM_UP).json()["full_name"]
    RuntimeCapability.objects.filter(full_name=other).update(
        expires_at=F("created_at") - timedelta(days=1)
    )

    def found(**query: str) -> list[bool]:
        page = admin.get(LIST, query).content.decode()
        return [one in page for one in (name, other)]

    assert found() == [True, True]
    assert found(show="expired") == [False, True]
    assert found(group="support") == found(q="alice") == [True, False]
    assert found(q="nothing like it") == [False, False]


def test_empty_list_says_what_would_be_there(people: People, admin: Client) -> None:
    assert "Nothing has been made at runtime yet" in admin.get(LIST).content.decode()
    assert "Your group has not made anything yet" in seen_by(people.charlie)


def test_list_takes_as_many_statements_for_twenty(people: People, admin: Client) -> None:
    client = key_of(people.alice)

    def count() -> int:
        with CaptureQueriesContext(connection) as statements:
            assert admin.get(LIST).status_code == 200
        return len(statements)

    for body in (HAIKU, WHISPER):
        post(client, body)
    admin.get(LIST)
    few = count()
    for number in range(18):
        post(client, {**HAIKU, "name": f"haiku{number}"})

    assert count() == few


AT = "/api/v1/runtime-capabilities"


def read(client: Client, name: str = "", **query: Any) -> Any:
    return client.get(f"{AT}/{name}" if name else AT, query)


def test_owner_lists_their_own_in_any_state(people: People) -> None:
    client = key_of(people.alice)
    names = [post(client, body).json()["full_name"] for body in (HAIKU, SUM_UP, WHISPER)]
    post(key_of(people.bob), {**HAIKU, "name": "sonnet"})
    client.delete(f"/api/v1/capabilities/{names[0]}")

    page = read(client).json()
    live = read(client, state="proposed", limit=1).json()

    assert (page["count"], page["has_more"]) == (3, False)
    states = {one["full_name"]: one["state"] for one in page["items"]}
    assert states == {names[0]: "retired", names[1]: "proposed", names[2]: "proposed"}
    assert (live["count"], len(live["items"]), live["has_more"]) == (2, 1, True)


def test_owner_reads_the_findings_of_what_waits_and_was_rejected(people: People) -> None:
    client = key_of(people.alice)
    name = post(client, {**HAIKU, "description": HIDDEN}).json()["full_name"]

    waiting = read(client, name).json()
    integration = RuntimeCapability.objects.get().integration
    seen = {row.name: seen_digest(row) for row in list_waiting(integration)}
    root = UserFactory.create(username="root", is_staff=True, is_superuser=True)
    reject_definitions(by=root, integration=integration, digests=seen)

    assert (waiting["review"], waiting["definition"]) == ("waiting", "")
    assert {one["severity"] for one in waiting["findings"]} == {"high"}
    assert waiting["expires_at"] > waiting["created_at"]
    assert read(client, name).json()["review"] == "rejected"


def test_expired_one_is_told_so_before_and_after_the_sweep(people: People) -> None:
    client = key_of(people.alice)
    name = post(client, HAIKU).json()["full_name"]
    RuntimeCapability.objects.update(expires_at=F("created_at") - timedelta(days=1))

    before = read(client, name).json()["state"]
    retire_expired()

    assert (before, read(client, name).json()["state"]) == ("expired", "expired")
    assert read(client, state="expired").json()["count"] == 1


@pytest.mark.parametrize("who", ["bob", "charlie"])
def test_others_get_the_answer_of_an_unknown_name(people: People, who: str) -> None:
    name = post(key_of(people.alice), HAIKU).json()["full_name"]
    client = key_of(getattr(people, who))

    answers = [read(client, one) for one in (name, "team0-skills__none")]

    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].json()["detail"] == answers[1].json()["detail"]
    assert read(client).json()["count"] == 0


def test_key_reads_only_in_the_groups_that_it_covers(people: People) -> None:
    name = post(key_of(people.alice), HAIKU).json()["full_name"]
    people.alice.groups.add(people.finance)
    _, raw = create_key(
        by=None, name="other", group=people.finance, owner=people.alice, scopes=["register"]
    )
    client = Client(headers={"Authorization": f"Bearer {raw}"})

    assert (read(client, name).status_code, read(client).json()["count"]) == (404, 0)


def test_admin_reads_any_by_name(people: People, admin: Client) -> None:
    name = post(key_of(people.alice), HAIKU).json()["full_name"]

    told = read(admin, name).json()

    assert (told["owner"], told["group"], told["kind"]) == ("alice", "support", "skill")
    assert read(admin, "no_such").status_code == 404


@pytest.mark.parametrize("query", [{"state": "lost"}, {"limit": "0"}, {"offset": "-1"}, {"x": "1"}])
def test_wrong_query_is_named(people: People, query: dict[str, str]) -> None:
    answer = read(key_of(people.alice), **query)

    assert (answer.status_code, answer.json()["field"]) == (400, next(iter(query)))


def test_list_takes_as_many_statements_for_many(people: People) -> None:
    client = key_of(people.alice)

    def count() -> int:
        with CaptureQueriesContext(connection) as statements:
            assert read(client).status_code == 200
        return len(statements)

    post(client, HAIKU)
    read(client)
    few = count()
    for number in range(5):
        post(client, {**HAIKU, "name": f"haiku{number}"})

    assert count() == few


EXPIRY_AT = "/api/v1/capabilities"


def expire_in(milliseconds: int) -> None:
    life = Value(timedelta(milliseconds=milliseconds), output_field=DurationField())
    RuntimeCapability.objects.update(expires_at=Now() + life)


def usable(people: People) -> set[str]:
    found = Capability.objects.usable_by(people.caller)
    return set(found.values_list("full_name", flat=True))


def test_it_ends_by_the_clock_while_nothing_is_written(people: People) -> None:
    name = post(key_of(people.alice), HAIKU).json()["full_name"]
    expire_in(60_000)
    before = (list_names(caller=people.caller), usable_ids(people.caller))
    categories = read_categories(people.caller)
    assert name in str(before[0])

    expire_in(10)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(0.02)")  # still the same transaction

    after = usable_ids(people.caller)
    assert name not in usable(people)
    assert after.version == before[1].version
    assert len(before[1].ids - after.ids) == 1
    assert name not in str(list_names(caller=people.caller))
    # Tier 0 is cached by the digest of what may be used, which is another one now.
    assert read_categories(people.caller)[0] != categories[0]


def test_expired_one_says_why_to_admins_before_the_sweep(people: People) -> None:
    name = post(key_of(people.alice), HAIKU).json()["full_name"]
    RuntimeCapability.objects.update(expires_at=F("created_at") - timedelta(days=1))

    told = explain(caller=people.caller, full_name=name)

    assert told is not None
    assert (told.decision, "It has expired." in told.because) == ("no", True)


def test_expired_name_is_free_before_the_sweep(people: People) -> None:
    client = key_of(people.alice)
    name = post(client, HAIKU).json()["full_name"]
    RuntimeCapability.objects.update(expires_at=F("created_at") - timedelta(days=1))

    again = post(client, HAIKU)

    assert (again.status_code, again.json()["full_name"]) == (201, name)
    assert name in usable(people)
    assert retire_expired() == 0


def test_no_decision_brings_an_expired_one_back(people: People) -> None:
    root = UserFactory.create(username="root", is_staff=True, is_superuser=True)
    made = post(key_of(people.alice), HAIKU).json()
    row = RuntimeCapability.objects.get()
    RuntimeCapability.objects.update(expires_at=F("created_at") - timedelta(days=1))

    with pytest.raises(WrongStateError):
        approve(by=root, row=row, seen=made["definition"])
    RuntimeCapability.objects.update(state="approved")
    with pytest.raises(WrongStateError):
        promote(by=root, row=row, groups=[people.finance])

    assert made["full_name"] not in usable(people)


def test_no_review_brings_a_retired_one_back(people: People) -> None:
    root = UserFactory.create(username="root", is_staff=True, is_superuser=True)
    client = key_of(people.alice)
    name = post(client, {**HAIKU, "description": HIDDEN}).json()["full_name"]
    integration = RuntimeCapability.objects.get().integration
    seen = {row.name: seen_digest(row) for row in list_waiting(integration)}
    reject_definitions(by=root, integration=integration, digests=seen)

    client.delete(f"{EXPIRY_AT}/{name}")

    with pytest.raises(NotReadableError, match="haiku: it was retired"):
        approve_definitions(by=root, integration=integration, digests=seen)
    assert name not in usable(people)
    assert Definition.objects.get(name="haiku").standing == "rejected"
    assert (
        client.put(f"{EXPIRY_AT}/{name}", without_name(HAIKU), "application/json").status_code
        == 404
    )


def test_extended_one_lasts(people: People) -> None:
    client = key_of(people.alice)
    name = post(client, HAIKU).json()["full_name"]
    expire_in(60_000)
    later = database_now() + timedelta(days=2)

    answer = client.put(
        f"{EXPIRY_AT}/{name}",
        without_name(HAIKU, expires_at=later.isoformat()),
        "application/json",
    )

    assert answer.status_code == 200
    assert RuntimeCapability.objects.get().expires_at == later
