"""Scheduler of beat that ends well while it sends, and says that it lives."""

from typing import Any

from celery.beat import PersistentScheduler

from acl.platform.processes import BEAT, note_alive

_BEAT_SECONDS = 60  # it wakes up every ten at the latest


class EndingScheduler(PersistentScheduler):  # type: ignore[misc]
    """Persistent scheduler that ends beat once its schedule has been closed.

    Celery's handler of SIGTERM closes the schedule and raises SystemExit wherever beat is. While
    the schedule is being written, the error of the closed file takes its place, and is taken for
    one of the task; the next tick would then end beat as a failure.
    """

    _is_closed = False

    def tick(self, *args: Any, **kwargs: Any) -> Any:
        """Send what is due. Raises SystemExit once the schedule has been closed."""
        note_alive(BEAT, seconds=_BEAT_SECONDS)
        try:
            return super().tick(*args, **kwargs)
        except ValueError:
            if not self._is_closed:
                raise
            raise SystemExit from None

    def close(self) -> None:
        """Write the schedule and close it."""
        self._is_closed = True
        super().close()
