"""Rows of jobs, pauses after failures, heartbeats and the schedule."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest
from celery import Celery, current_app
from celery.beat import Service
from django.db import connection, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from acl.platform.back_off import BackOff
from acl.platform.jobs import (
    claim_overdue,
    lock_unless_taken,
    move,
    overdue,
    send_again,
    update_unlocked,
)
from acl.platform.processes import KEY, note_heartbeat, worker_lives
from acl.platform.redis_circuit import attempt, redis_circuit
from acl.platform.task_names import REFRESH_SOURCE
from marketplace.config.beat_scheduler import EndingScheduler
from marketplace.models import Source
from tests.factories import SourceFactory

State = Source.State


@pytest.mark.django_db
def test_of_two_that_move_a_row_one_does() -> None:
    source = SourceFactory.create(state=State.QUEUED)
    same = Source.objects.get(pk=source.pk)

    moved = move(source, State.REFRESHING, done=7), move(same, State.FAILED)

    assert moved == (True, False)
    assert (source.state, same.state) == (State.REFRESHING, State.QUEUED)
    source.refresh_from_db()
    assert (source.state, source.done) == (State.REFRESHING, 7)


@pytest.mark.django_db
def test_row_moves_only_while_all_that_was_seen_is_so() -> None:
    source = SourceFactory.create(state=State.REFRESHING, run=2)
    Source.objects.filter(pk=source.pk).update(run=3)

    assert not move(source, State.READY, unchanged=("state", "run"))
    assert not move(source, State.READY, Q(done__gt=0))
    assert move(source, State.READY)


@pytest.mark.django_db
def test_only_rows_without_a_sign_of_life_are_overdue(settings: Settings) -> None:
    settings.PEGBOARD_SWEEP_AFTER_SECONDS = 60
    old = SourceFactory.create(sent_at=timezone.now() - timedelta(seconds=100))
    SourceFactory.create(sent_at=timezone.now())

    assert list(Source.objects.filter(overdue())) == [old]
    assert not Source.objects.filter(overdue(at_least=1000)).exists()


@pytest.mark.django_db
@pytest.mark.parametrize("hours", [-24, -1, 1, 24])
def test_row_is_swept_wherever_the_databases_clock_jumps(settings: Settings, hours: int) -> None:
    settings.PEGBOARD_SWEEP_AFTER_SECONDS = 60
    sent = SourceFactory.create(sent_at=Now() - timedelta(hours=hours))

    assert claim_overdue(Source.objects.filter(overdue())) == [sent.pk]
    assert not Source.objects.filter(overdue()).exists()
    settings.PEGBOARD_SWEEP_AFTER_SECONDS = 1000
    assert not Source.objects.filter(overdue(at_least=60)).exists()


@pytest.mark.django_db
def test_two_sweeps_claim_different_rows() -> None:
    old = SourceFactory.create(sent_at=timezone.now() - timedelta(days=1))

    claimed = [claim_overdue(Source.objects.filter(overdue(), pk=old.pk)) for _ in range(2)]

    assert claimed == [[old.pk], []]


@pytest.mark.django_db(transaction=True)
def test_locked_row_is_left_to_who_has_it() -> None:
    taken, free = SourceFactory.create(), SourceFactory.create()

    with _locked(taken):
        updated = update_unlocked(Source.objects.filter(pk__in=[taken.pk, free.pk]), done=1)
        assert updated == [free.pk]
        assert _lock(taken) is None
        assert _lock(free) == free

    assert _lock(taken) == taken


@pytest.mark.django_db
def test_overdue_rows_are_sent_once(monkeypatch: pytest.MonkeyPatch) -> None:
    redis_circuit.close()
    sent: list[tuple[str, list[int]]] = []
    monkeypatch.setattr(Celery, "send_task", lambda _, task, ids: sent.append((task, ids)))
    old = SourceFactory.create(sent_at=timezone.now() - timedelta(days=1), state=State.REFRESHING)
    rows = Source.objects.filter(overdue(), pk=old.pk)

    for _ in range(2):
        send_again(REFRESH_SOURCE, rows, state=State.QUEUED)

    assert sent == [(REFRESH_SOURCE, [old.pk])]
    old.refresh_from_db()
    assert old.state == State.QUEUED
    assert Source.objects.filter(pk=old.pk, sent_at__gt=Now() - timedelta(minutes=5)).exists()


def _lock(source: Source) -> Source | None:
    with transaction.atomic():
        return lock_unless_taken(Source.objects.filter(pk=source.pk))


@contextmanager
def _locked(source: Source) -> Iterator[None]:
    """Hold the row's lock in another connection."""
    given = connection.get_connection_params()
    names = ("dbname", "user", "password", "host", "port")
    with psycopg.connect(**{name: given[name] for name in names if given.get(name)}) as other:
        other.execute("SELECT FROM marketplace_source WHERE id = %s FOR UPDATE", [source.pk])
        yield


@pytest.fixture
def service(tmp_path: Path) -> Service:
    """Beat with a schedule of its own, in which nothing is due."""
    schedule = str(tmp_path / "schedule")
    return Service(
        current_app, schedule_filename=schedule, scheduler_cls=current_app.conf.beat_scheduler
    )


@pytest.mark.django_db  # beat asks for its lease
def test_beat_uses_it(service: Service) -> None:
    assert isinstance(service.scheduler, EndingScheduler)


@pytest.mark.django_db  # beat asks for its lease
def test_a_closed_schedule_ends_beat_without_an_error(service: Service) -> None:
    """Send a task whose SIGTERM has closed the schedule meanwhile."""
    service.scheduler.close()

    service.start()

    assert service._is_shutdown.is_set()


@pytest.mark.django_db  # beat asks for its lease
def test_an_error_of_an_open_schedule_is_told(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def odd(*_: object) -> bool:
        raise ValueError("odd entry")

    monkeypatch.setattr(service.scheduler, "schedules_equal", odd)
    service.scheduler.populate_heap()

    with pytest.raises(ValueError, match="odd entry"):
        service.scheduler.tick()


@pytest.mark.parametrize(("hostname", "lives"), [("servers@host", False), ("celery@host", True)])
def test_who_keeps_connections_does_not_count_as_worker(hostname: str, lives: bool) -> None:
    redis_circuit.close()
    attempt(lambda redis: redis.delete(KEY), default=0)

    note_heartbeat(sender=SimpleNamespace(eventer=SimpleNamespace(hostname=hostname)))

    assert worker_lives() is lives


PAUSES = st.floats(0.1, 10)


@given(
    first=PAUSES,
    times=st.floats(1, 1000),
    jitter=st.floats(0, 1),
    events=st.lists(st.tuples(st.booleans(), st.floats(0, 100)), max_size=80),
)
def test_pauses_double_up_to_the_longest_and_end_with_a_success(
    first: float, times: float, jitter: float, events: list[tuple[bool, float]]
) -> None:
    longest, now, in_a_row = first * times, 0.0, 0
    back_off = BackOff(first, longest, jitter)
    for failed, passed in events:
        now += passed
        (back_off.failed(now) if failed else back_off.succeeded())
        in_a_row = in_a_row + 1 if failed else 0
        expected = min(longest, first * 2 ** (in_a_row - 1)) if in_a_row else 0

        assert back_off.pause == expected
        assert back_off.allows(now + expected)
        almost = now + 0.99 * (1 - jitter) * expected
        assert back_off.allows(almost) == (not failed or almost >= back_off.until)
        assert not failed or back_off.until >= now + (1 - jitter) * expected - 1e-6


def test_no_number_of_failures_is_too_large() -> None:
    assert BackOff(failures=10**9).pause == 60
