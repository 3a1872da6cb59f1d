"""Fair turns: of the threads, one caller has some at a time, so that others always find one."""

from collections import Counter, deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Item = TypeVar("Item")
# Beyond, a caller is refused; nobody waits longer.
MOST_WAITING, LONGEST_WAIT_SECONDS = 100, 30.0


@dataclass(slots=True)
class Turns(Generic[Item]):
    """Who runs and who waits; `most` of one caller run at a time. Used by one thread only."""

    most: int
    _running: Counter[Hashable] = field(default_factory=Counter)
    _waiting: dict[Hashable, deque[tuple[float, Item]]] = field(default_factory=dict)

    def begin(self, who: Hashable) -> bool:
        """Take a turn if one is free."""
        if self._running[who] >= self.most:
            return False
        self._running[who] += 1
        return True

    def wait(self, who: Hashable, item: Item, *, now: float) -> bool:
        """Queue for the next turn; False where too many wait already."""
        waiting = self._waiting.setdefault(who, deque())
        if len(waiting) >= MOST_WAITING:
            return False
        waiting.append((now + LONGEST_WAIT_SECONDS, item))
        return True

    def end(self, who: Hashable) -> Item | None:
        """Give a turn back; return whoever has it next, who has begun by that."""
        waiting = self._waiting.get(who)
        if waiting:
            _, item = waiting.popleft()
            if not waiting:
                del self._waiting[who]
            return item
        self._running[who] -= 1
        if self._running[who] <= 0:
            del self._running[who]
        return None

    @property
    def has_waiting(self) -> bool:
        """Tell whether somebody waits."""
        return bool(self._waiting)

    def expired(self, now: float) -> Iterator[Item]:
        """Remove and return those that have waited too long."""
        for who in list(self._waiting):
            waiting = self._waiting[who]
            while waiting and waiting[0][0] <= now:
                yield waiting.popleft()[1]
            if not waiting:
                del self._waiting[who]
