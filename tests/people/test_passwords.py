"""Forgotten and changed passwords, and e-mail addresses."""

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.core.mail import EmailMessage
from django.test import Client
from django.utils.translation import get_language, override

from acl.models import AuditEntry
from acl.platform.mail import send_later
from tests.pages.conftest import PASSWORD
from tests.people.conftest import confirm_it_is_me, is_signed_in, last_link, mails, sign_in_as

NEW = "a new one, and long"
BOTH = {"password1": NEW, "password2": NEW}


def ask_for_a_link(email: str) -> tuple[int, str, str]:
    answer = Client().post("/sign-in/forgotten/", {"email": email})
    page = Client().get(answer["Location"]).content.decode()
    return answer.status_code, answer["Location"], page


def test_asking_tells_nothing_about_who_has_an_account(alice: User) -> None:
    assert ask_for_a_link("alice@example.com") == ask_for_a_link("stranger@example.com")
    assert [message.to for message in mails()] == [["alice@example.com"]]


@pytest.mark.django_db
def test_a_mail_written_in_the_background_has_the_readers_language() -> None:
    def write() -> EmailMessage:
        return EmailMessage(str(get_language()), to=["alice@example.com"])

    with override("de"):
        send_later(write)

    assert [message.subject for message in mails()] == ["de"]


def test_deactivated_people_get_no_link(alice: User) -> None:
    User.objects.update(is_active=False)

    ask_for_a_link("alice@example.com")

    assert mails() == []


def test_the_link_sets_a_password_once_and_ends_sessions(alice: User) -> None:
    before = sign_in_as("alice")
    ask_for_a_link("alice@example.com")
    link, client = last_link(), Client()

    form = client.get(link)["Location"]
    client.post(form, BOTH)

    assert is_signed_in(sign_in_as("alice", NEW))
    assert not is_signed_in(before)
    assert not is_signed_in(client)
    assert "no longer works" in Client().get(link).content.decode()
    assert AuditEntry.objects.filter(action="person.password_reset", target="alice").exists()


def test_a_link_does_not_go_round_the_code(alice_with_codes: User) -> None:
    ask_for_a_link("alice@example.com")
    client = Client()
    client.post(client.get(last_link())["Location"], BOTH)

    assert not is_signed_in(sign_in_as("alice", NEW))


def test_a_weak_password_is_refused_beside_the_field(alice: User) -> None:
    ask_for_a_link("alice@example.com")
    client = Client()
    form = client.get(last_link())["Location"]

    answer = client.post(form, {"password1": "alice", "password2": "alice"})

    assert "too short" in answer.content.decode()
    assert is_signed_in(sign_in_as("alice"))


def test_links_are_asked_for_so_often_and_no_more(alice: User) -> None:
    answers = [
        Client().post("/sign-in/forgotten/", {"email": "alice@example.com"}).status_code
        for _ in range(6)
    ]

    assert answers == [302] * 5 + [429]


def test_changing_the_password_ends_other_sessions(alice: User) -> None:
    client, other = sign_in_as("alice"), sign_in_as("alice")

    client.post("/account/password/", {"oldpassword": PASSWORD, **BOTH})

    assert is_signed_in(client)
    assert not is_signed_in(other)
    assert AuditEntry.objects.filter(action="person.password_changed", by=alice).exists()


def test_changing_it_takes_the_present_one(alice: User) -> None:
    client = sign_in_as("alice")

    answer = client.post("/account/password/", {"oldpassword": "wrong", **BOTH})

    assert answer.status_code == 422
    assert "The password is wrong." in answer.content.decode()


def test_an_address_counts_once_it_is_confirmed(alice: User) -> None:
    client = sign_in_as("alice")
    confirm_it_is_me(client, "/account/codes/")
    client.post("/account/email/", {"action_add": "", "email": "alice@work.example"})
    assert not is_signed_in(sign_in_as("alice@work.example", "wrong"))
    assert not EmailAddress.objects.get(email="alice@work.example").verified

    client.post(last_link())

    assert EmailAddress.objects.get(email="alice@work.example").verified


def test_adding_an_address_takes_the_password(alice: User) -> None:
    client = sign_in_as("alice")

    answer = client.post("/account/email/", {"action_add": "", "email": "alice@work.example"})

    assert answer["Location"].startswith("/account/confirm/")
    assert not EmailAddress.objects.filter(email="alice@work.example").exists()


def test_someone_elses_address_cannot_be_confirmed(alice: User, bob: User) -> None:
    client = sign_in_as("bob")
    confirm_it_is_me(client, "/account/codes/")

    client.post("/account/email/", {"action_add": "", "email": "alice@example.com"})
    link = last_link()
    client.post(link)

    assert not EmailAddress.objects.get(user=bob, email="alice@example.com").verified
    ask_for_a_link("alice@example.com")
    assert "Hello alice" in mails()[-1].body
