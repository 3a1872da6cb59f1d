"""Signing in by a test's client, without what only real sign-ins need.

Django's own way sends seventeen statements, many of them of the lockout: a third of the time of
some tests. Tests of signing in send the form, or use `Client.login`, which stays as it is.
"""

from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import VALID_KEY_CHARS
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone
from django.utils.crypto import get_random_string

_AS_USUAL: Any = Client.force_login


def begin_session(client: Client, user: User, backend: str | None = None) -> None:
    """Sign the user in as `Client.force_login` does, by two statements."""
    if settings.SESSION_COOKIE_NAME in client.cookies:
        _AS_USUAL(client, user, backend)  # which carries over what the session has
        return
    chosen = backend or client._get_backend()  # type: ignore[attr-defined]
    user.backend = chosen
    store = SessionStore()
    key = get_random_string(32, VALID_KEY_CHARS)
    kept = {
        SESSION_KEY: str(user.pk),
        BACKEND_SESSION_KEY: chosen,
        HASH_SESSION_KEY: user.get_session_auth_hash(),
    }
    Session.objects.create(
        session_key=key, session_data=store.encode(kept), expire_date=store.get_expiry_date()
    )
    user.last_login = timezone.now()
    User.objects.filter(pk=user.pk).update(last_login=user.last_login)
    client.cookies[settings.SESSION_COOKIE_NAME] = key


def session_of(user: User) -> Client:
    """Return a browser in which the user is signed in."""
    client = Client()
    client.force_login(user)
    return client
