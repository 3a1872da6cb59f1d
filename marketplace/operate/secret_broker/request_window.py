"""Bound on the number of different connections that something happens for within a minute."""

import time
from collections.abc import Callable
from threading import Lock

_SECONDS = 60.0


class RequestWindow:
    """Counts names, each once a minute."""

    def __init__(self, most: int, *, now: Callable[[], float] = time.monotonic) -> None:
        self._most, self._now = most, now
        self._since: dict[str, float] = {}
        self._lock = Lock()

    def admit(self, name: str) -> tuple[bool, bool]:
        """Return whether the name is within the bound, and whether it is new in this minute."""
        with self._lock:
            now = self._now()
            self._since = {one: at for one, at in self._since.items() if at > now - _SECONDS}
            if name in self._since:
                return True, False
            if len(self._since) >= self._most:
                return False, False
            self._since[name] = now
            return True, True
