"""REL-13: the machine's clock is off by an hour; deadlines follow the database's clock."""

from datetime import timedelta

import pytest
import time_machine
from django.db.models.functions import Now
from django.utils import timezone

from acl.keys.lifecycle import rotate_key
from acl.models import ApiKey, Invitation
from acl.people._invitations import invite as invite_person
from acl.platform.clock import database_now
from discovery.calls.approvals import CannotDecideError, approve_call
from discovery.calls.arguments import digest_of
from discovery.models import Call
from tests.access.people import People, invite
from tests.factories import CapabilityFactory, UserFactory, give, waiting_call
from tests.web.conftest import client_with, new_key

pytestmark = pytest.mark.django_db
SOON = timedelta(minutes=30)


@pytest.fixture
def people() -> People:
    return invite()


@pytest.mark.parametrize("hours", [-1, 1])
def test_ends_are_by_the_databases_clock(people: People, hours: int) -> None:
    root = UserFactory.create(username="root", is_superuser=True, is_staff=True)
    good, over = new_key(people.support), new_key(people.support)
    first, second = ApiKey.objects.order_by("pk")
    ApiKey.objects.filter(pk=first.pk).update(expires_at=Now() + SOON)
    ApiKey.objects.filter(pk=second.pk).update(expires_at=Now() - SOON)
    capability = CapabilityFactory.create()
    give(capability.integration, people.support)
    calls = [waiting_call(people.alice, people.support, capability, text) for text in "ab"]
    Call.objects.filter(pk=calls[0].pk).update(expires_at=Now() + SOON)
    Call.objects.filter(pk=calls[1].pk).update(expires_at=Now() - SOON)

    with time_machine.travel(timezone.now() + timedelta(hours=hours)):
        successor, _ = rotate_key(by=root, key=first, lifetime=timedelta(days=1))
        invitation, _ = invite_person(by=root, email="eve@example.com", groups=[people.support])

        assert [_status(raw) for raw in (good, over)] == [200, 401]
        approve_call(by=root, call=calls[0], digest=digest_of(calls[0]))
        with pytest.raises(CannotDecideError):
            approve_call(by=root, call=calls[1], digest=digest_of(calls[1]))

    ends = [successor.expires_at, Invitation.objects.get(pk=invitation.pk).expires_at]
    left = [end - database_now() for end in ends if end is not None]
    assert timedelta(hours=23, minutes=30) < left[0] < timedelta(hours=24, minutes=30)
    assert timedelta(days=6, hours=23, minutes=30) < left[1] < timedelta(days=7, minutes=30)


def _status(raw: str) -> int:
    body = {"message": "hello", "user": "alice"}
    return client_with(raw).post("/api/v1/select", body, "application/json").status_code
