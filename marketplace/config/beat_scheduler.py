"""Scheduler of beat: one of several sends, it ends well meanwhile, and it says that it lives."""

from typing import Any

from celery.beat import PersistentScheduler

from acl.platform.database_work import Lease
from acl.platform.processes import BEAT, note_alive

_BEAT_SECONDS = 60  # it wakes up every ten at the latest
_STANDBY_SECONDS = 5.0


class EndingScheduler(PersistentScheduler):  # type: ignore[misc]
    """Persistent scheduler that ends beat once its schedule has been closed.

    Celery's handler of SIGTERM closes the schedule and raises SystemExit wherever beat is. While
    the schedule is being written, the error of the closed file takes its place, and is taken for
    one of the task; the next tick would then end beat as a failure.
    """

    _is_closed = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._lease = Lease("pegboard/beat")
        super().__init__(*args, **kwargs)

    def tick(self, *args: Any, **kwargs: Any) -> Any:
        """Send what is due, unless another beat does. Raises SystemExit once it was closed."""
        if not self._is_closed and not self._lease.hold():
            return _STANDBY_SECONDS
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
        self._lease.release()
        super().close()
