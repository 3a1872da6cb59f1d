"""Pages of runtime capabilities: the list for everyone, decisions for admins."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext

from acl.models import Space
from catalog.models import Capability, Rule, RuntimeCapability
from tests.access.people import People
from tests.factories import lay_down
from tests.runtime.conftest import HAIKU, HIDDEN, SUM_UP, WHISPER, key_of, post

pytestmark = pytest.mark.django_db
LIST = "/tools/runtime/"


@pytest.fixture
def name(people: People) -> str:
    return str(post(key_of(people.alice), HAIKU).json()["full_name"])


def seen_by(user: User, **query: str) -> str:
    client = Client()
    client.force_login(user)
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


def test_decisions_are_for_admins(people: People, name: str) -> None:
    client = Client()
    client.force_login(people.alice)

    answers = [client.post(f"{LIST}{one}/retire/").status_code for one in (name, "no__such")]

    assert answers == [404, 404]
    assert RuntimeCapability.objects.get().state == "proposed"


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
