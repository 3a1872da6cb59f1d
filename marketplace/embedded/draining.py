"""gunicorn's threaded worker, which at its end also answers whoever waits in the queue by then.

Its own would close the socket with connections in it that the system has accepted and nobody has
read: their clients would see a reset, which no proxy may repeat.
"""

from gunicorn.workers.gthread import ThreadWorker


class DrainingWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """Goes on accepting until nothing is under way, within the graceful time."""

    def set_accept_enabled(self, enabled: bool) -> None:
        """Called with False at the beginning of the end, and where it has too many connections."""
        if enabled or self.alive:
            super().set_accept_enabled(enabled)
        else:
            self.wait_for_and_dispatch_events(timeout=0)
