"""Experiences in the admin: displayed, and deleted after confirmation."""

import pytest
from django.test import Client

from acl.models import AuditEntry
from discovery.models import Experience
from tests.access.people import invite
from tests.factories import UserFactory, remember

pytestmark = pytest.mark.django_db
LIST = "/admin/discovery/experience/"


def test_experiences_are_listed_and_forgotten_after_a_question() -> None:
    people = invite()
    for user in (people.alice, people.bob):
        remember(people.send, user, people.support)
    kept = remember(people.pay, people.charlie, people.finance)
    client = Client()
    client.force_login(UserFactory.create(is_staff=True, is_superuser=True))
    assert "gmail__send_email" in client.get(LIST).content.decode()
    assert client.get(f"{LIST}{kept.pk}/change/").status_code == 200

    wanted = list(Experience.objects.filter(group=people.support).values_list("pk", flat=True))
    forgetting = {"action": "delete_selected", "_selected_action": wanted}
    question = client.post(LIST, forgetting)

    assert question.status_code == 200
    assert Experience.objects.count() == 3
    assert client.post(LIST, {**forgetting, "post": "yes"}).status_code == 302
    assert list(Experience.objects.all()) == [kept]
    entries = AuditEntry.objects.filter(action="learning.forget")
    assert [(entry.target, entry.details) for entry in entries] == [("support", {"experiences": 2})]
