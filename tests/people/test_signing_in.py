"""Sign-in by name, address and one-time code, without revealing accounts, with lockout."""

import re
from typing import Any

import pytest
from allauth import urls as allauth_urls
from allauth.mfa.models import Authenticator
from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from pytest_django import Settings

from acl.models import AuditEntry
from tests.pages.conftest import PASSWORD
from tests.people.codes import code_of
from tests.people.conftest import SECRET, confirm_it_is_me, is_signed_in, mails, sign_in_as

TRIES = 6
NAMES = ("alice", "ALICE", " alice ", "\uff41lice", "Alice")
ADDRESSES = ("alice@example.com", "Alice@example.com", "alice@EXAMPLE.com", " alice@example.com",
             "ALICE@EXAMPLE.COM")  # fmt: skip


@pytest.mark.parametrize("name", ["alice", "ALICE", "alice@example.com", " Alice@Example.com "])
def test_name_and_address_sign_in(alice: User, name: str) -> None:
    assert is_signed_in(sign_in_as(name))


@pytest.mark.parametrize("name", ["alice", "alice@example.com", "stranger", "stranger@example.com"])
def test_wrong_password_is_told_alike_whoever_it_is(alice: User, name: str) -> None:
    assert told(Client(), name) == told(Client(), "someone.else")


def test_deactivated_person_is_told_what_a_stranger_is_told(alice: User) -> None:
    User.objects.update(is_active=False)

    assert told(Client(), "alice", PASSWORD) == told(Client(), "stranger", PASSWORD)


@pytest.mark.parametrize("name", ["alice", "alice@example.com", "stranger", "stranger@example.com"])
def test_as_much_is_worked_out_for_a_stranger(
    alice: User, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = []
    real = MD5PasswordHasher.encode

    def count(self: MD5PasswordHasher, *args: object, **kwargs: object) -> str:
        times.append(1)
        return real(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(MD5PasswordHasher, "encode", count)

    told(Client(), name)

    assert len(times) == 1


@pytest.mark.parametrize("name", ["alice", "stranger"])
def test_six_wrong_passwords_lock(alice: User, name: str) -> None:
    client = Client()
    answers = [told(client, name) for _ in range(TRIES)]

    assert answers[0][0] == 200
    assert answers[-1] == (429, told(Client(REMOTE_ADDR="127.0.0.1"), "anyone.locked", tries=6)[1])


def test_right_password_does_not_open_a_locked_account(alice: User) -> None:
    client = Client()
    for _ in range(TRIES):
        told(client, "alice")

    assert told(client, "alice", PASSWORD)[0] == 429
    assert not is_signed_in(client)


def test_forged_address_does_not_begin_anew(alice: User) -> None:
    for number in range(TRIES):
        told(Client(), "alice", forwarded=f"192.0.2.{number}")

    assert told(Client(), "alice", PASSWORD, forwarded="192.0.2.99")[0] == 429


def test_addresses_of_one_ipv6_network_count_together(alice: User) -> None:
    for number in range(TRIES):
        told(Client(REMOTE_ADDR=f"2001:db8::{number}"), "alice")

    assert told(Client(REMOTE_ADDR="2001:db8::99"), "alice", PASSWORD)[0] == 429


@pytest.mark.parametrize("spellings", [NAMES, ADDRESSES])
def test_all_spellings_of_a_name_count_together(alice: User, spellings: tuple[str, ...]) -> None:
    for typed in spellings:
        told(Client(), typed)

    assert told(Client(), spellings[0], PASSWORD)[0] == 429


def test_someone_elsewhere_is_not_locked_out(alice: User) -> None:
    for _ in range(TRIES):
        told(Client(REMOTE_ADDR="192.0.2.1"), "alice")

    assert is_signed_in(sign_in_as("alice", REMOTE_ADDR="192.0.2.2"))


def test_success_forgets_the_tries(alice: User) -> None:
    for _ in range(3):
        for _ in range(3):
            told(Client(), "alice@example.com")
        client = sign_in_as("alice")

    assert is_signed_in(client)


def test_one_address_cannot_try_many_names(db: None) -> None:
    answers = [told(Client(), f"name{number}")[0] for number in range(31)]

    assert answers[-1] == 429


def test_nothing_of_it_needs_redis(alice: User, redis_away: None) -> None:
    assert is_signed_in(sign_in_as("alice"))
    for _ in range(TRIES):
        told(Client(), "alice")
    assert told(Client(), "alice", PASSWORD)[0] == 429


def test_the_cache_keeps_no_pickles(db: None) -> None:
    cache.set("some", [1.5, True, "three"])

    assert cache.get("some") == [1.5, True, "three"]
    with pytest.raises(TypeError):
        cache.set("some", object())


def test_next_leads_to_no_other_site(alice: User) -> None:
    form = {"login": "alice", "password": PASSWORD, "next": "https://evil.example/"}

    assert Client().post("/sign-in/", form)["Location"] == "/today/"


def test_the_admin_has_no_door_of_its_own(admin: User, alice: User) -> None:
    client = Client()
    asked = client.get("/admin/", follow=True)
    assert asked.redirect_chain[-1][0] == "/sign-in/?next=/admin/"

    client.post("/admin/login/", {"username": "root", "password": PASSWORD})

    assert not is_signed_in(client)
    assert sign_in_as("alice").get("/admin/", follow=True).status_code == 404
    assert sign_in_as("root").get("/admin/").status_code == 200


WANTED = {
    "account_change_password", "account_confirm_email", "account_email", "account_login",
    "account_logout", "account_reauthenticate", "account_reset_password",
    "account_reset_password_done", "account_reset_password_from_key",
    "account_reset_password_from_key_done", "account_set_password", "mfa_activate_totp",
    "mfa_authenticate", "mfa_deactivate_totp", "mfa_generate_recovery_codes", "mfa_index",
    "mfa_reauthenticate", "mfa_view_recovery_codes", "openid_connect_callback",
    "socialaccount_connections", "socialaccount_login_cancelled",
}  # fmt: skip


def test_allauths_other_pages_do_not_exist(client: Client) -> None:
    theirs = set(names(allauth_urls.urlpatterns))

    assert theirs & set(names(get_resolver().url_patterns)) == WANTED
    for path in ("accounts/signup", "signup", "account/signup", "login/code", "accounts/login"):
        assert client.get(f"/{path}/").status_code == 404


def names(patterns: list[URLPattern | URLResolver]) -> list[str]:
    found = []
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            found += names(pattern.url_patterns)
        elif pattern.name:
            found.append(pattern.name)
    return found


def told(
    client: Client, name: str, typed: str = "wrong", forwarded: str = "", tries: int = 1
) -> tuple[int, str]:
    """Return status and text of the answer, without the token and the typed values."""
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    for _ in range(tries):
        response = client.post("/sign-in/", {"login": name, "password": typed}, headers=headers)
    text = response.content.decode().replace(name.strip(), "NAME")
    return response.status_code, re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", text)


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
