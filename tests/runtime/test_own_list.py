"""Runtime capabilities as their owner reads them."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext

from acl.keys.lifecycle import create_key
from catalog.capabilities.runtime_state import retire_expired
from catalog.models import RuntimeCapability
from catalog.registration.definition_review import list_waiting, reject_definitions, seen_digest
from tests.access.people import People
from tests.factories import UserFactory
from tests.runtime.conftest import HAIKU, HIDDEN, SUM_UP, WHISPER, key_of, post

pytestmark = pytest.mark.django_db
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


def test_person_without_the_scope_reads_nothing(people: People) -> None:
    name = post(key_of(people.alice), HAIKU).json()["full_name"]
    client = Client()
    client.force_login(people.alice)

    assert [read(client, one).status_code for one in (name, "")] == [403, 403]


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
