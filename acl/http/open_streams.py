"""The number of this process's open streams, in all and for each person."""

import threading
from collections import Counter

# A stream lends a thread to the web server (marketplace/operate/embedded/reception.py).
MOST, MOST_OF_ONE = 16, 3


class OpenStreams:
    """Places for streams. Beyond them, calls are answered without a stream."""

    def __init__(self, most: int = MOST, most_of_one: int = MOST_OF_ONE) -> None:
        self._most, self._most_of_one = most, most_of_one
        self._lock = threading.Lock()
        self._held: Counter[int] = Counter()

    def take(self, user_id: int) -> bool:
        """Take a place; return False if there is none."""
        with self._lock:
            if self._held.total() >= self._most or self._held[user_id] >= self._most_of_one:
                return False
            self._held[user_id] += 1
            return True

    def give_back(self, user_id: int) -> None:
        """Give a place back."""
        with self._lock:
            self._held[user_id] -= 1
            self._held += Counter()  # drops those without any


open_streams = OpenStreams()
