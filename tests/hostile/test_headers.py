"""Security headers of all answers, and Django's deployment checks."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import Client
from drf_spectacular.settings import spectacular_settings
from pytest_django import Settings

from tests.hostile.world import World

PROJECT = Path(__file__).resolve().parent.parent.parent
PRODUCTION = {
    "PEGBOARD_HTTPS": "true",
    "PEGBOARD_DEBUG": "false",
    "PEGBOARD_SECRET_KEY": "kX9" + "d7Qw-zR2" * 8,
    "PEGBOARD_ALLOWED_HOSTS": "pegboard.example",
    "PEGBOARD_TRUSTED_ORIGINS": "https://pegboard.example",
}
# Each kind of answer: who asks, how, where, and the expected status.
ANSWERS = [
    ("alice", "GET", "/tools/", 200),
    ("root", "GET", "/access/", 200),
    ("root", "GET", "/admin/", 200),
    ("root", "GET", "/audit/export.csv", 200),
    ("anonymous", "GET", "/sign-in/", 200),
    ("anonymous", "GET", "/tools/", 302),
    ("anonymous", "GET", "/no-such-page/", 404),
    ("alice", "GET", "/access/", 404),
    ("alice", "POST", "/tools/", 405),
    ("own key", "GET", "/api/v1/names?user=alice-mulberry", 200),
    ("anonymous", "GET", "/api/v1/names", 401),
    ("admin key", "GET", "/api/v1/names", 403),
    ("own key", "GET", "/api/v1/names?nothing=1", 400),
    ("anonymous", "GET", "/api/v1/nothing", 404),
    ("anonymous", "GET", "/api/docs/", 200),
    ("anonymous", "GET", "/api/schema/", 200),
    ("anonymous", "GET", "/healthz", 200),
    ("anonymous", "GET", "/static/pegboard/mark.svg", 200),
    ("anonymous", "GET", "/static/pegboard/no-such.css", 404),
]
each_answer = pytest.mark.parametrize(
    ("who", "method", "path", "status"), ANSWERS, ids=lambda value: str(value)
)


@pytest.fixture(autouse=True)
def _our_static_files(settings: Settings) -> None:
    """Serve static files from the source folder, as `manage.py up` does once they are collected."""
    settings.WHITENOISE_USE_FINDERS = True


@each_answer
def test_every_kind_of_answer_has_the_headers(
    world: World, who: str, method: str, path: str, status: int
) -> None:
    response = world.client(who).generic(method, path)

    assert response.status_code == status
    assert_safe(response)


@pytest.mark.parametrize("failure", [400, 403, 500])
def test_a_failure_has_them_too(world: World, failure: int) -> None:
    client = world.client("alice", enforce_csrf_checks=failure == 403)
    client.raise_request_exception = False

    if failure == 400:
        response = client.get("/tools/", HTTP_HOST="not ours")
    elif failure == 403:
        response = client.post("/group/", {"group": "1"})
    else:
        with pytest.MonkeyPatch.context() as broken:
            broken.setattr("catalog.access.pages.my_tools.list_my_tools", _fail)
            response = client.get("/tools/")

    assert response.status_code == failure
    assert_safe(response)
    assert "quince" not in response.content.decode()


def _fail(**asked: object) -> None:
    raise ValueError("a quince is in the text of the error")


def assert_safe(response: Any) -> None:
    """Assert that the browser may not guess types, be framed, or run foreign scripts."""
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Referrer-Policy"] == "same-origin"
    assert response["Cross-Origin-Opener-Policy"] == "same-origin"
    assert response["X-Request-ID"]
    policy = dict(
        part.strip().partition(" ")[::2] for part in response["Content-Security-Policy"].split(";")
    )
    assert policy["frame-ancestors"] == "'none'"
    assert policy["base-uri"] == "'none'"
    assert policy["object-src"] == "'none'"
    assert policy["form-action"] == "'self'"
    assert policy["default-src"] == "'self'"
    assert policy["script-src"] == "'self'"
    assert "Server" not in response
    assert "X-Powered-By" not in response


@each_answer
def test_behind_https_browsers_are_told_to_stay_there(
    world: World, who: str, method: str, path: str, status: int, settings: Settings
) -> None:
    settings.SECURE_HSTS_SECONDS = 31_536_000

    response = world.client(who).generic(method, path, secure=True)

    assert "max-age=31536000" in response["Strict-Transport-Security"]


def test_session_cookies_are_for_us_and_for_no_script(world: World, settings: Settings) -> None:
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True
    world.alice.set_password("correct horse battery")
    world.alice.save()
    client = Client()

    client.post("/sign-in/", {"login": "alice-mulberry", "password": "correct horse battery"})

    session = client.cookies[django_settings.SESSION_COOKIE_NAME]
    assert (session["httponly"], session["samesite"], session["secure"]) == (True, "Lax", True)


@pytest.mark.long
def test_django_finds_nothing_wrong_with_production() -> None:
    """Also covers the API's schema, whose warnings are among these checks."""
    assert spectacular_settings.ENABLE_DJANGO_DEPLOY_CHECK
    environment = {**os.environ, **PRODUCTION}
    environment.pop("DJANGO_ALLOW_ASYNC_UNSAFE", None)  # set by the browser tests

    found = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert found.returncode == 0, found.stderr
    assert "no issues" in found.stdout + found.stderr
