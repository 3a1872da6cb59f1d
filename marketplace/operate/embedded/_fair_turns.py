"""Fair sharing of threads: a limit per caller, so that others always find a free thread."""

from collections import Counter, deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Item = TypeVar("Item")
# Callers beyond these limits are refused.
MAX_WAITING, MAX_WAIT_SECONDS = 100, 30.0


@dataclass(slots=True)
class FairQueue(Generic[Item]):
    """A concurrency limit of `most` per caller, with a queue for each. Not thread-safe."""

    most: int
    _running: Counter[Hashable] = field(default_factory=Counter)
    _waiting: dict[Hashable, deque[tuple[float, Item]]] = field(default_factory=dict)

    def begin(self, caller: Hashable) -> bool:
        """Take a slot if the caller has one free."""
        if self._running[caller] >= self.most:
            return False
        self._running[caller] += 1
        return True

    def wait(self, caller: Hashable, item: Item, *, now: float) -> bool:
        """Queue for the caller's next free slot. Return False if the queue is full."""
        waiting = self._waiting.setdefault(caller, deque())
        if len(waiting) >= MAX_WAITING:
            return False
        waiting.append((now + MAX_WAIT_SECONDS, item))
        return True

    def end(self, caller: Hashable) -> Item | None:
        """Free a slot. Return the caller's next queued item, which then holds the slot."""
        waiting = self._waiting.get(caller)
        if waiting:
            _, item = waiting.popleft()
            if not waiting:
                del self._waiting[caller]
            return item
        self._running[caller] -= 1
        if self._running[caller] <= 0:
            del self._running[caller]
        return None

    @property
    def has_waiting(self) -> bool:
        """True if any item is queued."""
        return bool(self._waiting)

    def expired(self, now: float) -> Iterator[Item]:
        """Remove and yield the items that have waited too long."""
        for caller in list(self._waiting):
            waiting = self._waiting[caller]
            while waiting and waiting[0][0] <= now:
                yield waiting.popleft()[1]
            if not waiting:
                del self._waiting[caller]
