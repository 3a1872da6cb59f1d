"""Fixtures: accounts that can sign in, and sent mails."""

import re
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.totp.internal.auth import TOTP
from django.contrib.auth.models import Group, User
from django.core import mail
from django.core.mail import EmailMessage
from django.db import connection
from django.test import Client
from pytest_django import Settings

from acl.platform.mail import mail_thread
from acl.platform.redis_circuit import redis_circuit
from tests.factories import GroupFactory, UserFactory
from tests.pages.conftest import (  # noqa: F401 - fixtures
    PASSWORD,
    admin,
    alices_page,
    as_admin,
    as_alice,
    calendar,
    gmail,
    page,
    support,
)

SECRET = "JBSWY3DPEHPK3PXP" * 2
SignIn = Callable[..., Client]


@pytest.fixture(autouse=True)
def _counts_of_its_own(settings: Settings) -> None:
    """Reset the attempts counted in Redis, whatever runs in parallel."""
    cache = {**settings.CACHES["default"], "KEY_PREFIX": uuid4().hex}
    settings.CACHES = {"default": cache}


@pytest.fixture
def alice(support: Group) -> User:  # noqa: F811 - the fixture of the pages
    """alice, with a password and a confirmed address."""
    return with_address(UserFactory.create(username="alice", groups=[support]))


@pytest.fixture
def bob(db: None) -> User:
    """A member of another group."""
    return with_address(UserFactory.create(username="bob", groups=[GroupFactory.create()]))


@pytest.fixture
def alice_with_codes(alice: User, rf: object) -> User:
    """alice, who must enter a code."""
    TOTP.activate(alice, SECRET)
    return alice


@pytest.fixture
def redis_away(settings: Settings) -> Iterator[None]:
    """An unreachable Redis."""
    cache = {**settings.CACHES["default"], "LOCATION": "redis://127.0.0.1:1/0"}
    settings.CACHES = {"default": cache}
    yield
    redis_circuit.close()


def with_address(user: User) -> User:
    """Give the user a password and confirm `name@example.com`."""
    user.email = f"{user.username}@example.com"
    user.set_password(PASSWORD)
    user.save()
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    return user


def sign_in_as(name: str, password: str = PASSWORD, **more: str) -> Client:
    """Return a browser that has sent name and password."""
    client = Client(**more)  # type: ignore[arg-type]
    client.post("/sign-in/", {"login": name, "password": password})
    return client


def is_signed_in(client: Client) -> bool:
    """Return True if My tools opens."""
    return client.get("/account/").status_code == 200


def mails() -> list[EmailMessage]:
    """Return the mails sent, running the on-commit hooks, since the test never commits."""
    while connection.run_on_commit:
        connection.run_on_commit.pop(0)[1]()
    mail_thread().submit(lambda: None).result()  # its only thread has sent the earlier ones
    return mail.outbox


def last_link() -> str:
    """Return the path of the link in the last mail."""
    text = str(mails()[-1].body)
    found = re.search(r"https?://[^/\s]+(/\S+)", text)
    assert found, text
    return found.group(1)


def confirm_it_is_me(client: Client, path: str) -> None:
    """Confirm the password for a page that requires it again."""
    asked = client.get(path)
    assert asked["Location"].startswith("/account/confirm/")
    client.post(asked["Location"], {"password": PASSWORD})
