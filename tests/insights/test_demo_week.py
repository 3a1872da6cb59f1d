"""The demonstration week, played by the command through the API of a live server."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import Group
from django.core.management import CommandError, call_command
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from acl.models import ApiKey
from catalog.registration.register import register
from discovery.insights.figures import report_figures
from discovery.models import Called, Experience, Outcome, OutcomeAlert, Turn
from marketplace.offers.kinds.starter import starter_collection
from tests.factories import GroupFactory, UserFactory


@pytest.mark.django_db(transaction=True)
def test_week_is_played_by_the_api_and_moved_to_its_days(live_server: LiveServer) -> None:
    register(starter_collection(), by=None, source="starter", group=GroupFactory.create())
    other = Turn.objects.create(user=UserFactory.create(), group=Group.objects.get())

    def play(*more: str) -> str:
        out = StringIO()
        call_command("demo_week", "--turns=44", f"--url={live_server}", *more, "--json", stdout=out)
        return out.getvalue()

    with pytest.raises(CommandError, match="turns of others"):
        play()
    counts = json.loads(play("--yes"))

    played = Turn.objects.exclude(pk=other.pk)
    now = timezone.now()
    assert counts["turns"] == played.count() == 44
    assert counts["outcomes"] == Outcome.objects.count() > 30
    assert played.values("user").distinct().count() > 4
    assert played.values("created_at__date").distinct().count() > 3
    assert not played.filter(created_at__gt=now - timedelta(minutes=5)).exists()
    assert Called.objects.exists()
    assert Experience.objects.filter(created_at__gt=now - timedelta(minutes=5)).count() == 0
    # By bad luck a whole group's turns may go badly as well; the bad night is the space's own.
    [alert] = OutcomeAlert.objects.exclude(space=None)
    assert alert.at < now - timedelta(hours=24)
    assert Outcome.objects.filter(at=alert.at).count() == 1
    assert not ApiKey.objects.filter(revoked_at=None).exists()
    other.refresh_from_db()
    assert other.created_at > now - timedelta(minutes=10)
    report = report_figures(since=now - timedelta(days=7), until=now, group_id=None)
    # How many turns call a tool depends on the weekday, too: the dice draw days and messages.
    calling = Called.objects.values("outcome").distinct().count()
    assert 4 < report.figures["called_among_selected"].of <= calling


def test_nobody_is_there_to_play_with(db: None) -> None:
    with pytest.raises(CommandError, match="does not answer"):
        call_command("demo_week", "--turns=4", "--url=http://127.0.0.1:9")

    assert not ApiKey.objects.filter(revoked_at=None).exists()
