"""Growth of a call's CPU time with its input, independent of the machine.

The thread's own CPU time ignores other processes. A call is judged by doubling its input: linear
work doubles, quadratic work quadruples. The smallest of several measurements counts, and short ones
are not judged, because the ratio of two short times says nothing.
"""

import time
from collections.abc import Callable

# Below this, caches and first calls dominate the measurement.
TOO_SHORT = 0.004  # seconds
# Factor for two doublings: linear is 4, n log n 5, n ** 1.5 is 8, quadratic is 16.
MOST_GROWTH = 9.0
# Between these, a neighbour may have slowed one of the two: both are measured again.
UNCLEAR = (5.5, 13.0)
TOO_LONG = 0.3  # seconds; linear work never comes near
_TRIES, _MORE_TRIES = 3, 6


def cpu_seconds(call: Callable[[], object]) -> float:
    """Return the thread's CPU seconds for the call."""
    started = time.thread_time()
    call()
    return time.thread_time() - started


def growth(call: Callable[[int], object], size: int) -> str:
    """Describe the call's growth from `size` on if it is much faster than n log n; otherwise "".

    `call` takes the size of its input. The input grows fourfold until it can be measured.
    """
    for _ in range(3):
        before = least(call, size)
        if before > TOO_LONG:
            return f"{before * 1000:.0f} ms for {size}"
        if before * 4 >= TOO_SHORT:
            return _compare(call, size, before)
        size *= 4
    return ""


def _compare(call: Callable[[int], object], size: int, before: float) -> str:
    after = least(call, 4 * size)
    for _ in range(_MORE_TRIES):
        if after > TOO_LONG or not UNCLEAR[0] < after / before < UNCLEAR[1]:
            break
        before, after = min(before, least(call, size)), min(after, least(call, 4 * size))
    told = f"{before * 1000:.1f} ms for {size}, {after * 1000:.1f} ms for {4 * size}"
    return told if after > TOO_LONG or after / before > MOST_GROWTH else ""


def least(call: Callable[[int], object], size: int) -> float:
    """Return the smallest measurement, since noise only adds."""
    smallest = cpu_seconds(lambda: call(size))
    for _ in range(_TRIES - 1):
        if smallest > TOO_LONG:
            break
        smallest = min(smallest, cpu_seconds(lambda: call(size)))
    return smallest
