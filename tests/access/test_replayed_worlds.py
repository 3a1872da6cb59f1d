"""Worlds of tests are put back as they were built now."""

import pytest
import time_machine
from django.utils import timezone

from catalog.models import Integration
from tests.factories import IntegrationFactory
from tests.replays import replayed

pytestmark = pytest.mark.django_db


def test_world_is_put_back_unless_it_was_built_at_another_time() -> None:
    build = replayed(lambda: IntegrationFactory.create(slug="wiki"))
    made = []

    with time_machine.travel("2031-01-01T00:00:00Z"):
        made.append(build())
    for _ in range(2):
        Integration.objects.all().delete()
        made.append(build())

    elsewhere, first, second = made
    assert elsewhere.created_at > timezone.now() >= first.created_at
    assert (second.pk, second.created_at) == (first.pk, first.created_at)
    assert elsewhere.pk != first.pk
