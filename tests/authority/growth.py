"""How the CPU time of a call grows with its input, in a way that does not depend on the machine.

The time is the thread's own, so other processes do not count. A call is judged by doubling its
input: linear work doubles, quadratic work quadruples. The smallest of several measurements counts,
and short ones are not judged at all, because the ratio of two short times says nothing.
"""

import time
from collections.abc import Callable

# Below, what a cache or a first call costs is as much as what is measured.
TOO_SHORT = 0.004  # seconds
# Of two doublings together: linear is 4, n log n 5, n ** 1.5 is 8, quadratic is 16.
MOST_GROWTH = 9.0
TOO_LONG = 0.3  # seconds; nothing linear comes near
_TRIES = 3


def cpu_seconds(call: Callable[[], object]) -> float:
    """Return what the call costs this thread."""
    started = time.thread_time()
    call()
    return time.thread_time() - started


def growth(call: Callable[[int], object], size: int) -> str:
    """Say how the call grows from `size` on, where that is much faster than n log n; else "".

    `call` takes the size of its input. It is made four, sixteen, … times as large until there is
    something to measure.
    """
    for _ in range(3):
        before = least(call, size)
        if before > TOO_LONG:
            return f"{before * 1000:.0f} ms for {size}"
        if before * 4 >= TOO_SHORT:
            after = least(call, 4 * size)
            told = f"{before * 1000:.1f} ms for {size}, {after * 1000:.1f} ms for {4 * size}"
            return told if after > TOO_LONG or after / before > MOST_GROWTH else ""
        size *= 4
    return ""


def least(call: Callable[[int], object], size: int) -> float:
    """Return the smallest of some measurements: noise only adds."""
    smallest = cpu_seconds(lambda: call(size))
    for _ in range(_TRIES - 1):
        if smallest > TOO_LONG:
            break
        smallest = min(smallest, cpu_seconds(lambda: call(size)))
    return smallest
