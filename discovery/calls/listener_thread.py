"""Thread of a worker that listens to Redis until it is told to stop."""

import threading
from abc import ABC, abstractmethod

LISTEN_SECONDS = 1


class ListenerThread(ABC):
    """A daemon thread; subclasses listen, LISTEN_SECONDS at a time, until `_over` is set."""

    def __init__(self, name: str) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._listen, name=name, daemon=True)

    def start(self) -> None:
        """Start listening."""
        self._thread.start()

    def stop(self) -> None:
        """Stop listening; what has been taken already is carried out."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join(2 * LISTEN_SECONDS + 1)

    @abstractmethod
    def _listen(self) -> None: ...
