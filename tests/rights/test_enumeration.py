"""BRU-1: answers do not reveal whether an account exists or two identifiers share one."""

import re
from collections.abc import Callable
from itertools import product

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import Group, User
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.pages.conftest import (  # noqa: F401 - fixtures
    PASSWORD,
    support,
)
from tests.people.conftest import (  # noqa: F401 - fixtures
    _counts_of_its_own,
    alice,
    is_signed_in,
    mails,
    sign_in_as,
    with_address,
)

NAME, EMAIL = "alice", "alice@example.com"
STRANGER, STRANGERS = "grace", "grace@example.com"
Answer = tuple[int, str, dict[str, str], int]


def wrong(client: Client, name: str) -> Answer:
    """Return status, text, headers and number of statements of a failed sign-in."""
    return observed(lambda: client.post("/sign-in/", {"login": name, "password": "wrong"}), name)


def observed(ask: Callable[[], object], named: str) -> Answer:
    with CaptureQueriesContext(connection) as statements:
        response = ask()
    assert isinstance(response, HttpResponse)
    text = response.content.decode().replace(named, "NAMED")
    text = re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", text)
    changing = {"X-Request-ID", "Content-Length", "Expires"}
    headers = {name: text for name, text in response.items() if name not in changing}
    return response.status_code, text, headers, len(statements)


def sequence(pattern: tuple[str, ...], of: str) -> list[Answer]:
    """Return the answers to sign-ins with a person's identifiers, chosen by `pattern`."""
    client = Client(REMOTE_ADDR=f"192.0.2.{ord(of[0])}")
    client.get("/sign-in/")
    return [wrong(client, of if kind == "name" else f"{of}@example.com") for kind in pattern]


@pytest.mark.parametrize(
    "pattern",
    [
        ("name",) * 7,
        ("email",) * 7,
        ("name",) * 3 + ("email",) * 3 + ("name",) * 3,
        ("name", "email") * 6,
        ("email",) * 6 + ("name",),
    ],
)
def test_sequence_of_tries_is_answered_alike_for_an_account_and_for_nobody(
    alice: User,  # noqa: F811
    pattern: tuple[str, ...],
) -> None:
    sequence(pattern, "other")  # warms up what the first request initializes

    known, unknown = sequence(pattern, NAME), sequence(pattern, STRANGER)
    assert known == unknown


def test_lock_of_the_name_is_no_lock_of_the_address(alice: User) -> None:  # noqa: F811
    by_name = [status for status, *_ in sequence(("name",) * 3 + ("email",) * 3, NAME)]

    assert by_name == [200] * 6
    assert [one[0] for one in sequence(("name",) * 2, NAME)] == [200, 429]
    assert [one[0] for one in sequence(("email",) * 2, NAME)] == [200, 429]


def test_success_by_one_identifier_forgets_nothing_of_the_other(
    alice: User,  # noqa: F811
) -> None:
    sequence(("name",) * 4 + ("email",) * 4, NAME)

    here = {"REMOTE_ADDR": f"192.0.2.{ord(NAME[0])}"}
    assert is_signed_in(sign_in_as(EMAIL, **here))

    assert [one[0] for one in sequence(("email", "name"), NAME)] == [200, 429]


def test_every_kind_of_account_takes_one_statement_to_find(
    alice: User,  # noqa: F811
    support: Group,  # noqa: F811
) -> None:
    """Confirmed, added, in the account only, deactivated, a service account's, unknown."""
    EmailAddress.objects.create(user=alice, email="added@example.com", verified=False)
    gone = with_address(User.objects.create_user("gone"))
    User.objects.filter(pk=gone.pk).update(is_active=False)
    User.objects.create_user("bare", "bare@example.com", PASSWORD)
    typed = [NAME, EMAIL, "added@example.com", "gone", "gone@example.com", "bare@example.com"]
    typed += ["nobody", "nobody@example.com", "alice@", "@"]
    wrong(Client(), "first")

    found = {wrong(Client(REMOTE_ADDR="192.0.2.77"), name)[3] for name in typed}

    assert len(found) == 1


@pytest.mark.parametrize("name", ["bare", "bare@example.com", "BARE@example.com"])
def test_account_without_a_confirmed_address_signs_in_by_both(db: None, name: str) -> None:
    User.objects.create_user("bare", "bare@example.com", PASSWORD)

    assert is_signed_in(sign_in_as(name))


def test_name_that_is_someones_address_signs_nobody_else_in(alice: User) -> None:  # noqa: F811
    User.objects.create_user(EMAIL, "evil@example.com", "another password")

    assert not is_signed_in(sign_in_as(EMAIL, "another password"))
    assert is_signed_in(sign_in_as(EMAIL))


def test_asking_for_a_link_is_answered_alike(alice: User) -> None:  # noqa: F811
    gone = with_address(User.objects.create_user("gone"))
    User.objects.filter(pk=gone.pk).update(is_active=False)

    def forgotten(address: str) -> Answer:
        client = Client()
        return observed(lambda: client.post("/sign-in/forgotten/", {"email": address}), address)

    forgotten("first@example.com")
    asked = [EMAIL, STRANGERS, "gone@example.com", "ALICE@example.com"]

    answers = [forgotten(address) for address in asked]

    assert all(answer == answers[0] for answer in answers)
    assert [message.to for message in mails()] == [[EMAIL], [EMAIL]]


def test_links_are_limited_alike(alice: User) -> None:  # noqa: F811
    statuses = {
        address: [
            Client().post("/sign-in/forgotten/", {"email": address}).status_code for _ in range(7)
        ]
        for address in (EMAIL, STRANGERS)
    }

    assert statuses[EMAIL] == statuses[STRANGERS]
    assert statuses[EMAIL][-1] == 429


def test_taking_someones_address_is_answered_like_a_free_one(
    alice: User,  # noqa: F811
    support: Group,  # noqa: F811
) -> None:
    mallory = with_address(User.objects.create_user("mallory"))
    client = sign_in_as("mallory")
    asked = client.get("/account/codes/")
    client.post(asked["Location"], {"password": PASSWORD})
    answers = {}

    for address in ("free@example.com", EMAIL):
        form = {"action_add": "", "email": address}
        posted = observed(lambda form=form: client.post("/account/email/", form), address)  # type: ignore[misc]
        page = client.get("/account/").content.decode().replace(address, "ADDRESS")
        answers[address] = posted[:3], re.sub(r'value="\w{64}"', "", page)
        EmailAddress.objects.filter(user=mallory, verified=False).delete()

    assert answers["free@example.com"] == answers[EMAIL]


def test_made_up_reset_links_are_answered_alike(alice: User) -> None:  # noqa: F811
    """A link contains a person's number: an existing one, an unknown one, or none."""
    answers = []
    for uid, key in product((f"{alice.pk:x}", "zzzzzz", "1" * 40), ("abc-def", "x")):
        response = Client().get(f"/sign-in/forgotten/{uid}-{key}/")
        answers.append((response.status_code, response.content.replace(uid.encode(), b"UID")))

    assert len(set(answers)) == 1
