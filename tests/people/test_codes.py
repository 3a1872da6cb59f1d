"""One-time codes at sign-in: enabled, disabled, required at each entry, single-use."""

import re
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from acl.models import AuditEntry
from tests.pages.conftest import PASSWORD
from tests.people.codes import code_of
from tests.people.conftest import SECRET, confirm_it_is_me, is_signed_in, mails, sign_in_as


def test_codes_are_turned_on_with_an_app_and_recovery_codes(alice: User) -> None:
    client = sign_in_as("alice")
    confirm_it_is_me(client, "/account/codes/")

    answer = turn_codes_on(client)

    assert len(set(re.findall(r"<code>(\d{8})</code>", answer.content.decode()))) == 10
    assert "no-store" in answer["Cache-Control"]
    assert AuditEntry.objects.filter(action="person.two_factor_on", by=alice).count() == 1


@pytest.mark.django_db(transaction=True)
def test_their_owner_is_told_by_mail(alice: User) -> None:
    client = sign_in_as("alice")
    confirm_it_is_me(client, "/account/codes/")

    turn_codes_on(client)

    assert "Two-factor authentication was turned on." in mails()[-1].body


def test_recovery_codes_are_shown_once(alice_with_codes: User) -> None:
    client = signed_in_with_code()
    confirm_it_is_me(client, "/account/codes/lost/new/")
    client.post("/account/codes/lost/new/")

    first, second = (client.get("/account/codes/lost/").content.decode() for _ in range(2))

    assert len(re.findall(r"<code>\d{8}</code>", first)) == 10
    assert not re.findall(r"<code>\d", second)


def test_a_wrong_code_turns_nothing_on(alice: User) -> None:
    client = sign_in_as("alice")
    confirm_it_is_me(client, "/account/codes/")
    client.get("/account/codes/")

    answer = client.post("/account/codes/", {"code": "000000"})

    assert answer.status_code == 422
    assert "This code is wrong or has expired." in answer.content.decode()
    assert not Authenticator.objects.exists()


def test_the_password_alone_opens_nothing(alice_with_codes: User, admin: User) -> None:
    client = sign_in_as("alice")

    assert client.get("/tools/")["Location"] == "/sign-in/?next=/tools/"
    assert client.get("/api/v1/names").status_code == 401
    assert client.get("/sign-in/")["Location"].startswith("/sign-in/code/")


def test_the_code_lets_one_in(alice_with_codes: User) -> None:
    client = sign_in_as("alice@example.com")

    answer = client.post("/sign-in/code/", {"code": code_of(SECRET)})

    assert answer["Location"] == "/today/"
    assert is_signed_in(client)


def test_the_admin_asks_for_the_code_as_well(alice_with_codes: User) -> None:
    User.objects.update(is_staff=True, is_superuser=True)
    client = Client()

    first = client.post("/sign-in/?next=/admin/", {"login": "alice", "password": PASSWORD})
    assert first["Location"].startswith("/sign-in/code/")
    assert client.get("/admin/").status_code == 302
    second = client.post(first["Location"], {"code": code_of(SECRET)})

    assert second["Location"] == "/admin/"
    assert client.get("/admin/").status_code == 200


@pytest.mark.parametrize("steps", [-1, 0, 1])
def test_a_slow_clock_does_no_harm_and_a_code_counts_once(
    alice_with_codes: User, steps: int
) -> None:
    code = code_of(SECRET, steps=steps)
    first, second = sign_in_as("alice"), sign_in_as("alice")
    first.post("/sign-in/code/", {"code": code})

    answer = second.post("/sign-in/code/", {"code": code})

    assert is_signed_in(first)
    assert not is_signed_in(second)
    assert "This code is wrong or has expired." in answer.content.decode()


def test_an_old_code_does_not_count(alice_with_codes: User) -> None:
    client = sign_in_as("alice")

    client.post("/sign-in/code/", {"code": code_of(SECRET, steps=-3)})

    assert not is_signed_in(client)


def test_a_recovery_code_counts_once(alice_with_codes: User) -> None:
    client = signed_in_with_code()
    confirm_it_is_me(client, "/account/codes/lost/new/")
    shown = client.post("/account/codes/lost/new/", follow=True).content.decode()
    code = re.findall(r"<code>(\d{8})</code>", shown)[0]

    entered = []
    for _ in range(2):
        other = sign_in_as("alice")
        other.post("/sign-in/code/", {"code": code})
        entered.append(is_signed_in(other))

    assert entered == [True, False]


def test_wrong_codes_lock_the_account_wherever_they_come_from(alice_with_codes: User) -> None:
    for number in range(5):
        client = sign_in_as("alice", REMOTE_ADDR=f"192.0.2.{number}")
        answer = client.post("/sign-in/code/", {"code": "000000"})

    assert answer.status_code == 429
    client = sign_in_as("alice", REMOTE_ADDR="192.0.2.99")
    assert client.post("/sign-in/code/", {"code": code_of(SECRET)}).status_code == 429
    assert not is_signed_in(client)


def test_nobody_without_the_password_locks_codes(alice_with_codes: User) -> None:
    for _ in range(6):
        Client().post("/sign-in/", {"login": f"codes of {alice_with_codes.pk}", "password": "x"})

    client = sign_in_as("alice")
    client.post("/sign-in/code/", {"code": code_of(SECRET)})

    assert is_signed_in(client)


def test_codes_work_while_redis_is_away(alice_with_codes: User, redis_away: None) -> None:
    assert is_signed_in(signed_in_with_code())


def test_the_secret_cannot_be_read_in_the_database(alice_with_codes: User) -> None:
    assert SECRET not in str(Authenticator.objects.get().data)


def test_no_code_fits_after_the_key_has_changed(alice_with_codes: User, settings: Settings) -> None:
    settings.SECRET_KEY = "another"
    client = sign_in_as("alice")

    for secret in (SECRET, "A" * 32, ""):
        client.post("/sign-in/code/", {"code": code_of(secret)})

    assert not is_signed_in(client)


def test_turning_codes_off_takes_the_password(alice_with_codes: User) -> None:
    client = signed_in_with_code()

    asked = client.post("/account/codes/off/")
    assert asked["Location"].startswith("/account/confirm/")
    assert Authenticator.objects.exists()
    confirm_it_is_me(client, "/account/codes/off/")
    client.post("/account/codes/off/")

    assert not Authenticator.objects.exists()
    assert AuditEntry.objects.filter(action="person.two_factor_off", by=alice_with_codes).exists()


def turn_codes_on(client: Client) -> Any:
    page = client.get("/account/codes/").content.decode()
    found = re.search(r'class="secret">(\w+)<', page)
    assert found is not None
    assert "data:image/svg+xml;base64," in page
    return client.post("/account/codes/", {"code": code_of(found.group(1))}, follow=True)


def signed_in_with_code() -> Client:
    client = sign_in_as("alice")
    client.post("/sign-in/code/", {"code": code_of(SECRET)})
    return client
