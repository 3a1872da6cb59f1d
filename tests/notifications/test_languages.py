"""Languages of people: kept with the account, and what they are told is written in them."""

import json

import pytest
from django.contrib.auth.models import Group, User
from django.core import mail
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from acl.people.languages import Origin, keep_language, language_of
from catalog.models import Capability
from discovery.models import OutcomeAlert
from marketplace.notifications._delivery_rows import add_deliveries, claim_due, is_mail_due
from marketplace.notifications.channels import NewChannel, add_channel, send_test
from marketplace.notifications.delivery_sender import deliver
from marketplace.notifications.mail_sender import deliver_mails
from tests.factories import waiting_call
from tests.notifications.conftest import Receiver

pytestmark = pytest.mark.django_db
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
