"""The canonical rendering on pages and in the API, and rows that cannot be rendered."""

import json
from typing import Any

import pytest
from django.test import Client

from acl.keys.lifecycle import create_key
from discovery.calls.arguments import digest_of, hash_of, is_unaltered, serialize_arguments
from discovery.models import Call
from tests.access.people import People, invite
from tests.factories import UserFactory, waiting_call
from tests.pages.conftest import _folder_of_static_files, _plain_static_files  # noqa: F401


@pytest.fixture
def people(db: None) -> People:
    return invite()


def ask(people: People, arguments: Any, **fields: Any) -> Call:
    call = waiting_call(people.alice, people.support, people.send, "x")
    text = arguments if isinstance(arguments, str) else serialize_arguments(arguments)
    hashed = {} if isinstance(arguments, str) else {"arguments_hash": hash_of(arguments)}
    Call.objects.filter(pk=call.pk).update(arguments_json=text, **hashed, **fields)
    call.refresh_from_db()
    return call


def admin_of(people: People) -> Client:
    client = Client()
    client.force_login(UserFactory.create(username="root", is_staff=True, groups=[people.support]))
    return client


@pytest.mark.parametrize(
    ("before", "after"), [('{"a":1}', '{"a":1.0}'), ('{"a":1,"b":2}', '{"b":2,"a":1}')]
)
def test_an_approval_is_bound_to_the_text_that_was_rendered(
    people: People, before: str, after: str
) -> None:
    call = ask(people, json.loads(before))
    digest = digest_of(call)
    Call.objects.filter(pk=call.pk).update(approved_digest=digest, arguments_json=after)
    call.refresh_from_db()

    assert digest_of(call) != digest
    assert not is_unaltered(call)


BAD = ['{"a": Infinity}', '{"a": NaN}', "[1]", '{"a": 1e999}', "not json", "", '{"a":1,"a":2}',
       '{"a":' * 100 + "1" + "}" * 100, '"x"', '{"a": "\\ud800"}', "9" * 5000]  # fmt: skip


def test_rows_that_cannot_be_displayed_hide_no_other_and_can_be_rejected(people: People) -> None:
    good, broken = ask(people, {"text": "fine"}), [ask(people, bad) for bad in BAD]
    client = admin_of(people)
    _, key = create_key(by=None, name="admins", group=people.support, scopes=["admin"])
    headers = {"Authorization": f"Bearer {key}"}

    listed = client.get("/api/v1/approvals")
    by_key = client.get("/api/v1/approvals", headers=headers)

    assert client.get("/approvals/").status_code == 200
    for answer in (listed, by_key):
        items = {one["id"]: one for one in answer.json()["items"]}
        assert items[str(good.pk)]["arguments"] == {"text": "fine"}
        for call in broken:
            assert items[str(call.pk)]["arguments"] is None
            assert "cannot be displayed" in items[str(call.pk)]["unreadable"]
    for call in broken:
        page = client.get(f"/approvals/{call.pk}/")
        yes = client.post(f"/approvals/{call.pk}/", {"approve": "1", "digest": digest_of(call)})
        no = client.post(f"/approvals/{call.pk}/", {"reject": "1", "note": "broken"})

        assert "This call cannot be displayed" in page.content.decode()
        assert "Approve call" not in page.content.decode()
        assert (yes.status_code, no.status_code) == (409, 302), call.arguments_json
        assert not is_unaltered(call)


def test_difference_to_the_last_approved_call_is_for_those_who_decide(people: People) -> None:
    first = ask(people, {"to": "bob", "text": "hi", "cc": "dora"})
    client = admin_of(people)
    alone = client.get(f"/approvals/{first.pk}/").content.decode()
    client.post(f"/approvals/{first.pk}/", {"approve": "1", "digest": digest_of(first)})
    second = ask(people, {"to": "bоb", "text": "hi", "bcc": 5})
    owner = Client()
    owner.force_login(people.alice)

    page = client.get(f"/approvals/{second.pk}/").content.decode()
    told = client.get(f"/api/v1/approvals/{second.pk}").json()["compared"]
    own = owner.get(f"/approvals/{second.pk}/").content.decode()

    assert "No call of this tool has been approved" in alone
    assert {one["name"]: one["change"] for one in told["arguments"]} == {
        "to": "changed", "text": "equal", "bcc": "new", "cc": "gone",
    }  # fmt: skip
    assert told["id"] == str(first.pk)
    assert [word in page for word in ("changed", "unchanged", "removed")] == [True] * 3
    assert "dora" in page
    assert "dora" not in own
    assert "[U+043E CYRILLIC SMALL LETTER O]" in page


def test_a_call_of_another_group_is_no_example(people: People) -> None:
    call = waiting_call(people.charlie, people.finance, people.send, "theirs")
    client = admin_of(people)
    client.post(f"/approvals/{call.pk}/", {"approve": "1", "digest": digest_of(call)})
    own = ask(people, {"text": "ours"})

    assert "theirs" not in client.get(f"/approvals/{own.pk}/").content.decode()
