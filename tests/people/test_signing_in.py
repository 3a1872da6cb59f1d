"""Sign-in by name or address, without revealing accounts, with lockout after failures."""

import re

import pytest
from allauth import urls as allauth_urls
from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from tests.pages.conftest import PASSWORD
from tests.people.conftest import is_signed_in, sign_in_as

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
