"""Pages of channels, and the language that a person is told in."""

import json

import pytest
from django.contrib.auth.models import Group, User
from django.core import mail
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from acl.models import AuditEntry
from acl.people.languages import Origin, keep_language, language_of
from catalog.models import Capability
from discovery.models import OutcomeAlert
from marketplace.models import NotificationChannel
from marketplace.notifications.channels import NewChannel, add_channel, send_test
from marketplace.notifications.deliveries import (
    add_deliveries,
    claim_due,
    deliver_mails,
    is_mail_due,
)
from marketplace.notifications.tasks import deliver
from tests.factories import waiting_call
from tests.notifications.conftest import Receiver
from tests.sessions import session_of

pytestmark = pytest.mark.django_db


def test_a_webhook_is_added_and_its_secret_shown_once(
    admin: User, support: Group, receiver: Receiver
) -> None:
    form = {"kind": "webhook", "address": receiver.url, "topics": ["approvals", "alerts"],
            "group": support.pk, "with_arguments": "on"}  # fmt: skip

    added = session_of(admin).post("/access/notifications/", form)
    again = session_of(admin).get("/access/notifications/")

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

    refused = session_of(alice).post("/account/notifications/", form)
    added = session_of(alice).post("/account/notifications/", {**form, "topics": ["answers"]})

    channel = NotificationChannel.objects.get()
    assert refused.status_code == 422
    assert added["Location"] == f"/account/notifications/{channel.pk}/"
    assert (channel.owner, channel.topics) == (alice, ["answers"])


def test_a_test_pause_and_removal_have_their_buttons(alice: User, receiver: Receiver) -> None:
    client = session_of(alice)
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

    assert session_of(admin).get(f"/account/notifications/{own.pk}/").status_code == 404
    assert session_of(admin).get(f"/access/notifications/{own.pk}/").status_code == 404
    assert session_of(alice).get(f"/access/notifications/{groups.pk}/").status_code == 404
    assert session_of(alice).get(f"/account/notifications/{groups.pk}/").status_code == 404
    assert session_of(alice).get("/access/notifications/").status_code == 404


def test_an_address_that_may_not_be_reached_is_refused_beside_the_field(
    admin: User, settings: Settings
) -> None:
    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = []
    for address in ("http://127.0.0.1/hook", "https://10.0.0.1/", "file:///etc/passwd", ""):
        form = {"kind": "teams", "address": address, "topics": ["alerts"]}

        answer = session_of(admin).post("/access/notifications/", form)

        assert answer.status_code == 422, address
        assert 'id="address-wrong-1"' in answer.content.decode()
    assert not NotificationChannel.objects.exists()


def test_mail_is_not_offered_without_a_mail_server(admin: User, settings: Settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    form = {"kind": "mail", "topics": ["alerts"], "mail_to": "team@example.com"}

    page = session_of(admin).get("/access/notifications/").content.decode()
    answer = session_of(admin).post("/access/notifications/", form)

    assert "This installation sends no mail" in page
    assert '<option value="mail"' not in page
    assert answer.status_code == 422
    assert "no mail can be sent" in answer.content.decode()


ALL = ["approvals", "requests", "failures", "alerts", "reviews"]
SIGN_IN = {"login": "alice", "password": "a long pass phrase"}


def known(person: User) -> str:
    return language_of(User.objects.get(pk=person.pk))


def test_each_channel_is_told_in_its_own_language_and_groups_in_that_of_the_site(
    admin: User,
    alice: User,
    support: Group,
    gmail: Capability,
    receiver: Receiver,
    settings: Settings,
) -> None:
    settings.PEGBOARD_LANGUAGE = "es"
    keep_language(person=admin, code="de", origin=Origin.PERSON)
    for kind, owner in (("mail", admin), ("teams", admin), ("slack", None)):
        address = "" if kind == "mail" else receiver.url
        wanted = NewChannel(kind, ALL, "https://pegboard.example/", owner=owner, address=address)
        send_test(channel=add_channel(by=admin, values=wanted)[0])
    waiting_call(alice, support, gmail, "x")
    common = {"severity": "critical", "reason": "low", "threshold": 0.5, "samples": 1200}
    OutcomeAlert.objects.create(scope="all", at=timezone.now(), value=0.25, **common)

    add_deliveries()
    for key in claim_due():
        deliver(key)
    while is_mail_due():
        deliver_mails()

    sent = {str(one.subject): str(one.body) for one in mail.outbox}
    assert sorted(sent) == [
        "Die Ergebnisse insgesamt liegen unter dem Schwellenwert",
        "Ein Aufruf von gmail__send_email wartet auf Genehmigung",
        "Test von Pegboard",
    ]
    assert "0,25 statt mindestens 0,50, gemessen an 1.200 Anfragen" in str(sent)
    assert all("Für den Link müssen Sie sich anmelden." in body for body in sent.values())
    bodies = [json.loads(body) for body in receiver.bodies]
    slack = {one["text"]: one["blocks"] for one in bodies if "blocks" in one}
    assert "Una llamada a gmail__send_email espera aprobación" in slack
    assert "Abrir en Pegboard" in str(slack)
    assert "Einer" not in str(slack)
    assert str(bodies).count("In Pegboard öffnen") == 3


def test_the_account_s_language_follows_a_person_to_another_browser(alice: User) -> None:
    alice.set_password(SIGN_IN["password"])
    alice.save()
    first, other = Client(), Client()
    german = {"Accept-Language": "de-AT"}

    first.post("/sign-in/", SIGN_IN, headers=german)
    of_browser = known(alice)
    first.post("/account/language/", {"language": "es"}, headers=german)
    other.post("/sign-in/", SIGN_IN, headers=german)
    page = other.get("/account/", headers=german).content.decode()
    chosen = known(alice)
    other.post("/account/language/", {"language": ""}, headers=german)

    assert (of_browser, chosen, known(alice)) == ("de", "es", "de")
    assert '<html lang="es">' in page
    assert "Su cuenta" in page


def test_a_choice_counts_more_than_the_provider_and_that_more_than_the_browser(
    alice: User, settings: Settings
) -> None:
    unknown = known(alice)
    said = []
    for code, origin in (
        ("de", Origin.BROWSER),
        ("es", Origin.PROVIDER),
        ("de", Origin.BROWSER),
        ("de", Origin.PERSON),
        ("es", Origin.PROVIDER),
    ):
        keep_language(person=alice, code=code, origin=origin)
        said.append(known(alice))
    settings.LANGUAGES = [("en", "English")]

    assert (unknown, said) == ("en", ["de", "es", "es", "de", "de"])
    assert known(alice) == "en"  # a catalogue that was taken away
