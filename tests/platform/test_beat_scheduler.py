from pathlib import Path

import pytest
from celery import current_app
from celery.beat import Service

from marketplace.config.beat_scheduler import EndingScheduler

pytestmark = pytest.mark.django_db  # it asks for its lease


@pytest.fixture
def service(tmp_path: Path) -> Service:
    """Beat with a schedule of its own, in which nothing is due."""
    schedule = str(tmp_path / "schedule")
    return Service(
        current_app, schedule_filename=schedule, scheduler_cls=current_app.conf.beat_scheduler
    )


def test_beat_uses_it(service: Service) -> None:
    assert isinstance(service.scheduler, EndingScheduler)


def test_a_closed_schedule_ends_beat_without_an_error(service: Service) -> None:
    """Send a task whose SIGTERM has closed the schedule meanwhile."""
    service.scheduler.close()

    service.start()

    assert service._is_shutdown.is_set()


def test_an_error_of_an_open_schedule_is_told(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def odd(*_: object) -> bool:
        raise ValueError("odd entry")

    monkeypatch.setattr(service.scheduler, "schedules_equal", odd)
    service.scheduler.populate_heap()

    with pytest.raises(ValueError, match="odd entry"):
        service.scheduler.tick()
