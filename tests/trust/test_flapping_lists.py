"""Lists of tools that go on changing: summed up in the audit log, and nothing is lost."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from django.utils import timezone

from acl.models import AuditEntry
from catalog.models import Integration
from catalog.registration.definition_comparison import DIFFERENCES
from catalog.servers import _definition_sync
from catalog.servers._definition_sync import sync_definitions
from catalog.servers.client.mcp_session import Tools
from tests.factories import IntegrationFactory, active_model

DAY = datetime(2026, 3, 2, tzinfo=UTC)
NAMES = ("read", "write", "list")


class Flapping:
    """A server whose list is set by hand, at a time that is set by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.texts = DAY, dict[str, str]()
        self.row: Integration = IntegrationFactory.create(
            slug="flaps", transport="http", endpoint="https://a.example/"
        )
        monkeypatch.setattr(timezone, "now", self.tick)
        monkeypatch.setattr(_definition_sync, "check_server", lambda _: Tools(self.tools()))

    def tick(self) -> datetime:
        """Return the time, which goes on a little whenever it is asked for."""
        self.now += timedelta(microseconds=1)
        return self.now

    def tools(self) -> list[dict[str, Any]]:
        schema = {"type": "object"}
        return [
            {"name": name, "description": text, "inputSchema": schema}
            for name, text in self.texts.items()
        ]

    def read(self, after: timedelta) -> dict[str, list[str]]:
        """Read the list again, and return what differed."""
        self.now += after
        sync = sync_definitions(self.row.pk, "announced")
        assert sync is not None
        return {kind: getattr(sync, kind) for kind in DIFFERENCES if getattr(sync, kind)}


@pytest.mark.django_db
@pytest.mark.parametrize("seed", range(3))
def test_day_of_a_flapping_list_is_an_entry_an_hour_with_a_count(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    active_model()
    random, server, differed = Random(seed), Flapping(monkeypatch), list[dict[str, list[str]]]()
    for _ in range(24 * 6):
        server.texts = {
            name: random.choice(("Reads.", "Reads all.")) for name in NAMES if random.random() < 0.7
        }
        differed.append(server.read(timedelta(minutes=10)))
    server.texts = {}
    differed += [server.read(timedelta(hours=2)), server.read(timedelta(hours=2))]

    entries = list(AuditEntry.objects.filter(action="definition.differs").order_by("pk"))
    found = [one for one in differed if one]
    assert len(found) > 90
    assert len(entries) <= 26 + len(NAMES) * len(DIFFERENCES)
    assert sum(entry.details.get("times", 1) for entry in entries) == len(found)
    for kind in DIFFERENCES:
        told = {name for entry in entries for name in entry.details.get(kind, [])}
        assert told == {name for one in found for name in one.get(kind, [])}


@pytest.mark.django_db
def test_what_the_last_hour_has_not_told_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    active_model()
    server, minute = Flapping(monkeypatch), timedelta(minutes=1)
    for number in range(5):
        server.texts = dict.fromkeys(NAMES[: 1 + number % 2], "Reads.")
        server.read(minute)
    entries = AuditEntry.objects.filter(action="definition.differs")
    before = entries.count()
    server.texts["list"] = "Lists."
    server.read(minute)

    last = entries.latest("pk")
    assert (entries.count(), last.details["new"][0]) == (before + 1, "list")
    assert server.now - last.at < timedelta(seconds=1)
