"""Expiry by the clock of each statement: the sweep only tidies up."""

from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import DurationField, F, Value
from django.db.models.functions import Now

from acl.platform.clock import database_now
from catalog.access.explanation import explain
from catalog.access.usable_ids import usable_ids
from catalog.capabilities.catalog_queries import list_names
from catalog.capabilities.runtime_state import WrongStateError, approve, promote, retire_expired
from catalog.models import Capability, Definition, RuntimeCapability
from catalog.registration.definition_review import (
    NotReadableError,
    approve_definitions,
    list_waiting,
    reject_definitions,
    seen_digest,
)
from discovery.answer.tiers.state import read_categories
from tests.access.people import People
from tests.factories import UserFactory
from tests.runtime.conftest import HAIKU, HIDDEN, key_of, post, without_name

pytestmark = pytest.mark.django_db
AT = "/api/v1/capabilities"


def expire_in(milliseconds: int) -> None:
    life = Value(timedelta(milliseconds=milliseconds), output_field=DurationField())
    RuntimeCapability.objects.update(expires_at=Now() + life)


def usable(people: People) -> set[str]:
    found = Capability.objects.usable_by(people.caller)
    return set(found.values_list("full_name", flat=True))


def test_it_ends_by_the_clock_while_nothing_is_written(people: People) -> None:
    name = post(key_of(people.alice), HAIKU).json()["full_name"]
    expire_in(60_000)
    before = (list_names(caller=people.caller), usable_ids(people.caller))
    categories = read_categories(people.caller)
    assert name in str(before[0])

    expire_in(10)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(0.02)")  # still the same transaction

    after = usable_ids(people.caller)
    assert name not in usable(people)
    assert after.version == before[1].version
    assert len(before[1].ids - after.ids) == 1
    assert name not in str(list_names(caller=people.caller))
    # Tier 0 is cached by the digest of what may be used, which is another one now.
    assert read_categories(people.caller)[0] != categories[0]


def test_expired_one_says_why_to_admins_before_the_sweep(people: People) -> None:
    name = post(key_of(people.alice), HAIKU).json()["full_name"]
    RuntimeCapability.objects.update(expires_at=F("created_at") - timedelta(days=1))

    told = explain(caller=people.caller, full_name=name)

    assert told is not None
    assert (told.decision, "It has expired." in told.because) == ("no", True)


def test_expired_name_is_free_before_the_sweep(people: People) -> None:
    client = key_of(people.alice)
    name = post(client, HAIKU).json()["full_name"]
    RuntimeCapability.objects.update(expires_at=F("created_at") - timedelta(days=1))

    again = post(client, HAIKU)

    assert (again.status_code, again.json()["full_name"]) == (201, name)
    assert name in usable(people)
    assert retire_expired() == 0


def test_no_decision_brings_an_expired_one_back(people: People) -> None:
    root = UserFactory.create(username="root", is_staff=True, is_superuser=True)
    made = post(key_of(people.alice), HAIKU).json()
    row = RuntimeCapability.objects.get()
    RuntimeCapability.objects.update(expires_at=F("created_at") - timedelta(days=1))

    with pytest.raises(WrongStateError):
        approve(by=root, row=row, seen=made["definition"])
    RuntimeCapability.objects.update(state="approved")
    with pytest.raises(WrongStateError):
        promote(by=root, row=row, groups=[people.finance])

    assert made["full_name"] not in usable(people)


def test_no_review_brings_a_retired_one_back(people: People) -> None:
    root = UserFactory.create(username="root", is_staff=True, is_superuser=True)
    client = key_of(people.alice)
    name = post(client, {**HAIKU, "description": HIDDEN}).json()["full_name"]
    integration = RuntimeCapability.objects.get().integration
    seen = {row.name: seen_digest(row) for row in list_waiting(integration)}
    reject_definitions(by=root, integration=integration, digests=seen)

    client.delete(f"{AT}/{name}")

    with pytest.raises(NotReadableError, match="haiku: it was retired"):
        approve_definitions(by=root, integration=integration, digests=seen)
    assert name not in usable(people)
    assert Definition.objects.get(name="haiku").standing == "rejected"
    assert client.put(f"{AT}/{name}", without_name(HAIKU), "application/json").status_code == 404


def test_extended_one_lasts(people: People) -> None:
    client = key_of(people.alice)
    name = post(client, HAIKU).json()["full_name"]
    expire_in(60_000)
    later = database_now() + timedelta(days=2)

    answer = client.put(
        f"{AT}/{name}", without_name(HAIKU, expires_at=later.isoformat()), "application/json"
    )

    assert answer.status_code == 200
    assert RuntimeCapability.objects.get().expires_at == later
