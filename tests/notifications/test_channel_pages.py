"""Pages of channels: adding, testing, pausing and removing one, and whose they are."""

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from pytest_django import Settings

from acl.models import AuditEntry
from marketplace.models import NotificationChannel
from tests.notifications.conftest import Receiver

pytestmark = pytest.mark.django_db


def _as(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def test_a_webhook_is_added_and_its_secret_shown_once(
    admin: User, support: Group, receiver: Receiver
) -> None:
    form = {"kind": "webhook", "address": receiver.url, "topics": ["approvals", "alerts"],
            "group": support.pk, "with_arguments": "on"}  # fmt: skip

    added = _as(admin).post("/access/notifications/", form)
    again = _as(admin).get("/access/notifications/")

    channel = NotificationChannel.objects.get()
    assert "whsec_" in added.content.decode()
    assert "no-store" in added["Cache-Control"]
    assert "whsec_" not in again.content.decode()
    assert "hush" not in again.content.decode() + added.content.decode()
    assert (channel.group, channel.topics) == (support, ["approvals", "alerts"])
    assert channel.with_arguments
    entry = AuditEntry.objects.get(action="notification.channel_added")
    assert "hush" not in str(entry.details)


def test_members_choose_answers_only(alice: User, receiver: Receiver) -> None:
    form = {"kind": "slack", "address": receiver.url, "topics": ["approvals"]}

    refused = _as(alice).post("/account/notifications/", form)
    added = _as(alice).post("/account/notifications/", {**form, "topics": ["answers"]})

    channel = NotificationChannel.objects.get()
    assert refused.status_code == 422
    assert added["Location"] == f"/account/notifications/{channel.pk}/"
    assert (channel.owner, channel.topics) == (alice, ["answers"])


def test_a_test_pause_and_removal_have_their_buttons(alice: User, receiver: Receiver) -> None:
    client = _as(alice)
    client.post("/account/notifications/",
                {"kind": "slack", "address": receiver.url, "topics": ["answers"]})  # fmt: skip
    page = f"/account/notifications/{NotificationChannel.objects.get().pk}/"

    client.post(page, {"action": "test"})
    shown = client.get(page).content.decode()
    client.post(page, {"action": "pause"})
    paused = NotificationChannel.objects.get().paused
    client.post(page, {"action": "remove"})

    assert "Test from Pegboard" in shown
    assert paused
    assert not NotificationChannel.objects.exists()
    actions = AuditEntry.objects.filter(action__startswith="notification.")
    assert list(actions.order_by("pk").values_list("action", flat=True)) == [
        "notification.channel_added",
        "notification.channel_paused",
        "notification.channel_removed",
    ]


def test_nobody_reaches_the_channels_of_others(
    admin: User, alice: User, receiver: Receiver
) -> None:
    common = {"kind": "slack", "sealed_address": b"x", "origin": "http://x/", "topics": []}
    own = NotificationChannel.objects.create(owner=alice, **common)
    groups = NotificationChannel.objects.create(**common)

    assert _as(admin).get(f"/account/notifications/{own.pk}/").status_code == 404
    assert _as(admin).get(f"/access/notifications/{own.pk}/").status_code == 404
    assert _as(alice).get(f"/access/notifications/{groups.pk}/").status_code == 404
    assert _as(alice).get(f"/account/notifications/{groups.pk}/").status_code == 404
    assert _as(alice).get("/access/notifications/").status_code == 404


def test_an_address_that_may_not_be_reached_is_refused_beside_the_field(
    admin: User, settings: Settings
) -> None:
    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = []
    for address in ("http://127.0.0.1/hook", "https://10.0.0.1/", "file:///etc/passwd", ""):
        form = {"kind": "teams", "address": address, "topics": ["alerts"]}

        answer = _as(admin).post("/access/notifications/", form)

        assert answer.status_code == 422, address
        assert 'id="address-wrong-1"' in answer.content.decode()
    assert not NotificationChannel.objects.exists()


def test_mail_is_not_offered_without_a_mail_server(admin: User, settings: Settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    form = {"kind": "mail", "topics": ["alerts"], "mail_to": "team@example.com"}

    page = _as(admin).get("/access/notifications/").content.decode()
    answer = _as(admin).post("/access/notifications/", form)

    assert "This installation sends no mail" in page
    assert '<option value="mail"' not in page
    assert answer.status_code == 422
    assert "no mail can be sent" in answer.content.decode()
