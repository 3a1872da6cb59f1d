"""Keys for admins: list, creation, rotation, revocation; secrets are shown once."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acl.keys.lifecycle import create_key, holder_of, revoke_key
from acl.models import ApiKey, AuditEntry, ServiceAccount
from tests.factories import GroupFactory, UserFactory


def make(group: Group, name: str = "chat", **options: Any) -> ApiKey:
    options = {"acts_for_users": True, "scopes": ["select"], **options}
    return create_key(by=None, name=name, group=group, **options)[0]


def wanted(support: Group, **changes: Any) -> dict[str, Any]:
    """Return the form's fields for an ordinary key."""
    usual = {"name": "chat", "groups": [support.pk], "scopes": ["select"], "whom": "users"}
    return {**usual, "lifetime": "90", **changes}


def raw_in(response: Any) -> str:
    found = re.search(r'id="raw-key"[^>]*>(pb_[^<]+)<', response.content.decode())
    assert found
    return found[1]


def names(client: Client, query: str = "") -> list[str]:
    text = client.get(f"/keys/{query}").content.decode()
    return re.findall(r'<strong dir="auto">([^<]*)</strong>', text)


def test_list_tells_what_each_key_is(as_admin: Client, support: Group, alice: User) -> None:
    make(support, owner=alice, acts_for_users=False, scopes=["select", "execute"])

    text = " ".join(as_admin.get("/keys/").content.decode().split())

    for part in ("chat", "Support", "alice", "select", "execute", "never used", "active"):
        assert part in text
    assert ApiKey.objects.get().prefix in text
    assert ApiKey.objects.get().digest not in text


def test_empty_list_offers_the_first_key(as_admin: Client) -> None:
    text = as_admin.get("/keys/").content.decode()

    assert "No keys yet" in text
    assert "Create your first key" in text


def stand(key: ApiKey, **values: Any) -> None:
    ApiKey.objects.filter(pk=key.pk).update(**values)


def test_standing_goes_by_the_databases_clock(
    as_admin: Client, support: Group, alice: User
) -> None:
    make(support, "active")
    stand(make(support, "ending"), expires_at=Now() + timedelta(days=2))
    stand(make(support, "expired"), expires_at=Now() - timedelta(minutes=30))
    revoke_key(by=None, key=make(support, "revoked"))
    make(support, "resting", owner=UserFactory.create(is_active=False, groups=[support]))

    shown = {state: names(as_admin, f"?show={state}") for state in ("usable", "expired", "revoked")}

    assert sorted(shown["usable"]) == ["active", "ending"]
    assert (shown["expired"], shown["revoked"]) == (["expired"], ["revoked"])
    assert names(as_admin, "?show=resting") == ["resting"]
    assert names(as_admin)[:2] == ["ending", "active"]
    assert names(as_admin, "?show=nonsense") == names(as_admin)


def test_filters_leave_what_fits(as_admin: Client, support: Group, alice: User) -> None:
    other = make(GroupFactory.create(name="Finance"), "books")
    make(support, "mail", owner=alice)

    assert names(as_admin, "?q=MAI") == ["mail"]
    assert names(as_admin, "?q=alic") == ["mail"]
    assert names(as_admin, f"?q={other.prefix}") == ["books"]
    assert names(as_admin, "?group=Finance") == ["books"]
    assert "No key matches" in as_admin.get("/keys/?q=zzz").content.decode()


def test_list_asks_as_much_for_twenty_keys_as_for_two(
    as_admin: Client, support: Group, alice: User
) -> None:
    def some(number: int) -> None:
        for _ in range(number):
            make(support, owner=UserFactory.create(groups=[support]))

    some(2)
    as_admin.get("/keys/")
    with CaptureQueriesContext(connection) as few:
        as_admin.get("/keys/")

    some(18)
    with CaptureQueriesContext(connection) as many:
        as_admin.get("/keys/")

    assert len(many) == len(few)


def test_long_list_has_pages(as_admin: Client, support: Group) -> None:
    for number in range(51):
        make(support, f"key-{number}")

    assert len(names(as_admin)) == 50
    assert names(as_admin, "?page=2") == ["key-0"]


def test_new_key_works_and_is_shown_this_once(
    as_admin: Client, admin: User, support: Group
) -> None:
    response = as_admin.post("/keys/new/", wanted(support))

    raw = raw_in(response)
    holder = holder_of(raw)
    assert holder
    assert holder.acts_for_users
    assert "no-store" in response["Cache-Control"]
    assert AuditEntry.objects.get(action="key.created").by == admin
    for path in ("/keys/", "/keys/new/", "/audit/", f"/keys/{holder.key_id}/replace/"):
        assert raw not in as_admin.get(path).content.decode()
    assert raw not in str(dict(as_admin.session))
    assert raw not in str(as_admin.cookies)


def test_key_can_belong_to_a_person(as_admin: Client, support: Group, alice: User) -> None:
    form = wanted(support, whom="owner", owner="alice", scopes=["select", "execute"], lifetime="")

    as_admin.post("/keys/new/", form)

    key = ApiKey.objects.get()
    assert (key.owner, key.acts_for_users, key.scopes) == (alice, False, ["execute", "select"])
    assert key.expires_at is None


def test_key_can_come_with_a_service_account(as_admin: Client, support: Group) -> None:
    form = wanted(support, whom="account", account="robot", description="Works", also_users="on")

    as_admin.post("/keys/new/", form)

    key = ApiKey.objects.get()
    account = ServiceAccount.objects.get()
    assert (account.user.username, account.description) == ("robot", "Works")
    assert (key.owner, key.acts_for_users) == (account.user, True)
    assert list(account.user.groups.all()) == [support]
    assert "service account" in as_admin.get("/keys/").content.decode()


def test_key_for_nobody_manages_keys_only(as_admin: Client, support: Group) -> None:
    refused = as_admin.post("/keys/new/", wanted(support, whom="nobody"))
    made = as_admin.post("/keys/new/", wanted(support, whom="nobody", scopes=["admin"]))

    assert (refused.status_code, made.status_code) == (422, 200)
    assert ApiKey.objects.get().scopes == ["admin"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": " "}, "Give the key a name"),
        ({"groups": []}, "Choose the groups"),
        ({"groups": ["987654"]}, "There is no such group"),
        ({"scopes": []}, "Choose at least one scope"),
        ({"scopes": ["everything"]}, "is not one of the available choices"),
        ({"whom": "owner"}, "Enter the owner of the key"),
        ({"whom": "owner", "owner": "nobody"}, "These groups have no active user"),
        ({"whom": "owner", "owner": "charlie"}, "These groups have no active user"),
        ({"whom": "owner", "owner": "dora"}, "These groups have no active user"),
        ({"whom": "account"}, "Give the service account a name"),
        ({"whom": "account", "account": "alice"}, "already exists"),
        ({"whom": "account", "account": "two words"}, "valid username"),
        ({"lifetime": "7"}, "is not one of the available choices"),
    ],
)
def test_what_is_wrong_is_told_beside_the_field(
    as_admin: Client, support: Group, alice: User, change: dict[str, Any], sentence: str
) -> None:
    UserFactory.create(username="charlie")
    UserFactory.create(username="dora", groups=[support], is_active=False)

    response = as_admin.post("/keys/new/", wanted(support, **change))

    assert response.status_code == 422
    assert sentence in response.content.decode()
    assert not ApiKey.objects.exists()
    assert not ServiceAccount.objects.exists()


def test_old_key_goes_on_as_long_as_was_chosen(as_admin: Client, support: Group) -> None:
    _, old = create_key(by=None, name="chat", group=support, scopes=["select"], acts_for_users=True)
    key = ApiKey.objects.get()

    response = as_admin.post(f"/keys/{key.pk}/replace/", {"overlap": "60", "lifetime": "30"})

    assert holder_of(old)
    assert holder_of(raw_in(response))
    assert "no-store" in response["Cache-Control"]
    within = ApiKey.objects.filter(pk=key.pk, expires_at__lte=Now() + timedelta(minutes=60))
    assert within.exists()
    successor = ApiKey.objects.exclude(pk=key.pk).get()
    assert successor.expires_at
    assert (successor.expires_at - successor.created_at).days in {29, 30}


def test_old_key_can_end_at_once(as_admin: Client, support: Group) -> None:
    key = make(support)

    as_admin.post(f"/keys/{key.pk}/replace/", {"overlap": "0"})

    assert ApiKey.objects.filter(pk=key.pk, expires_at__lte=Now()).exists()


def test_key_that_is_over_is_not_replaced(as_admin: Client, support: Group) -> None:
    key = make(support)
    revoke_key(by=None, key=key)

    assert as_admin.get(f"/keys/{key.pk}/replace/").status_code == 404
    assert as_admin.post(f"/keys/{key.pk}/replace/", {"overlap": "60"}).status_code == 404
    assert as_admin.get(f"/keys/{key.pk}/revoke/").status_code == 404


def test_overlap_that_is_not_offered_is_refused(as_admin: Client, support: Group) -> None:
    key = make(support)

    response = as_admin.post(f"/keys/{key.pk}/replace/", {"overlap": "999999"})

    assert response.status_code == 422
    assert ApiKey.objects.count() == 1


def test_revoking_asks_first(as_admin: Client, admin: User, support: Group) -> None:
    key, raw = create_key(
        by=None, name="chat", group=support, scopes=["select"], acts_for_users=True
    )

    asked = as_admin.get(f"/keys/{key.pk}/revoke/")
    assert "cannot be undone" in asked.content.decode()
    assert holder_of(raw)

    done = as_admin.post(f"/keys/{key.pk}/revoke/", follow=True)

    assert "Its requests are refused from now on." in done.content.decode()
    assert holder_of(raw) is None
    assert AuditEntry.objects.get(action="key.revoked").by == admin


def test_names_are_suggested_for_the_owner(as_admin: Client, alice: User) -> None:
    assert "alice" in as_admin.get("/playground/people/?owner=ali").content.decode()
    assert "alice" not in as_admin.get("/playground/people/?owner=zzz").content.decode()


@given(st.lists(st.sampled_from(["active", "revoked", "expired"]), min_size=1, max_size=6))
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_ended_keys_are_folded_away(as_admin: Client, support: Group, states: list[str]) -> None:
    ApiKey.objects.all().delete()
    for state in states:
        key = make(support, name=state)
        ApiKey.objects.filter(pk=key.pk).update(
            revoked_at=Now() if state == "revoked" else None,
            expires_at=Now() - timedelta(hours=1) if state == "expired" else None,
        )

    before, _, after = as_admin.get("/keys/").text.partition('<details class="fold ended"')

    assert before.count('<strong dir="auto">') == states.count("active")
    assert after.count('<strong dir="auto">') == len(states) - states.count("active")
    assert after.startswith(" open") == ("active" not in states)
