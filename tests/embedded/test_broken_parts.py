"""Parts that are down, as an operator hears of them."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from marketplace.operate.embedded.disk_guard import BrokenPart, write_broken_parts
from tests.factories import UserFactory
from tests.sessions import session_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def down(tmp_path: Path, settings: Settings) -> None:
    """A Pegboard whose broker does not come back."""
    settings.PEGBOARD_DATA_DIR = tmp_path
    write_broken_parts(tmp_path, {"Broker": BrokenPart(4, "Broker was ended by SIGKILL.")})


@pytest.mark.usefixtures("down")
def test_admins_are_told_on_today_and_nobody_else_is() -> None:
    admin, alice = Client(), Client()
    admin.force_login(User.objects.create_superuser("root"))
    alice.force_login(UserFactory.create(username="alice"))

    sentence = (
        "Broker is down (start 4 has failed). Calls that need a secret fail; selecting goes on."
    )
    assert sentence in admin.get("/today/").content.decode()
    assert "Broker" not in alice.get("/today/").content.decode()


@pytest.mark.usefixtures("down")
def test_readiness_names_the_part_and_says_why_to_those_who_may_read_metrics() -> None:
    admin = session_of(User.objects.create_superuser("root"))

    answer = admin.get("/readyz").json()

    assert "processes" in answer["degraded"]
    assert answer["ready"]
    assert "was ended by SIGKILL" in answer["parts"]["processes"]["problem"]
    stranger = Client(REMOTE_ADDR="203.0.113.9")
    assert stranger.get("/readyz").json()["parts"]["processes"] == {"ok": False}
