"""A pytest plugin: the processor time that each test costs, in all processes that work for it.

    python -m pytest -n0 -p tests.cpu_times tests/access; python -m tests.cpu_times

Wall time depends on what else the machine does; this hardly does. Servers, workers, browsers and
both of the run's own servers are counted, since they are all descendants of the run: whatever is
orphaned is adopted by it. Figures go to `.pegboard/cpu-times.jsonl`, one line per phase.
"""

import ctypes
import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

OUT = Path(os.environ.get("PEGBOARD_CPU_TIMES", ".pegboard/cpu-times.jsonl"))
TICKS = os.sysconf("SC_CLK_TCK")
PR_SET_CHILD_SUBREAPER = 36  # prctl(2)

# Children inherit no such role; a daemon that leaves its parent becomes our child.
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def spent() -> tuple[float, dict[str, float]]:
    """Return the seconds of this process, and by name those of the processes below it."""
    live: dict[str, float] = defaultdict(float)
    for pid in _descendants(os.getpid()):
        name, seconds = _of(pid)
        live[name] += seconds
    return sum(os.times()[:4]), live


def _descendants(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            children = (task / "children").read_text().split()
        except OSError:
            continue
        for child in map(int, children):
            yield child
            yield from _descendants(child)


def _of(pid: int) -> tuple[str, float]:
    try:
        start, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    except OSError:
        return "gone", 0.0
    return start.partition("(")[2], sum(map(int, rest.split()[11:15])) / TICKS


class Meter:
    """Write down what was spent since the last mark."""

    def __init__(self) -> None:
        OUT.parent.mkdir(parents=True, exist_ok=True)
        self._out = OUT.open("a")
        self._before = spent()

    def mark(self, test: str, phase: str, kind: str) -> None:
        own, live = now = spent()
        before_own, before_live = self._before
        self._before = now
        grown = {
            name: round(live.get(name, 0) - before_live.get(name, 0), 2)
            for name in live.keys() | before_live.keys()
        }
        by = {"own": round(own - before_own, 3), **{n: s for n, s in grown.items() if s}}
        total = round(sum(by.values()), 3)
        line = {"test": test, "phase": phase, "kind": kind, "seconds": total, "by": by}
        self._out.write(json.dumps(line) + "\n")


METER = None if __name__ == "__main__" else Meter()


def _kind(item: pytest.Item) -> str:
    names = set(getattr(item, "fixturenames", ()))
    if "browser" in names:
        return "browser"
    if item.get_closest_marker("processes"):
        return "processes"
    if names & {"transactional_db", "live_server"} or _is_transactional(item):
        return "transactional"
    return "database" if "db" in names or item.get_closest_marker("django_db") else "pure"


def _is_transactional(item: pytest.Item) -> bool:
    mark = item.get_closest_marker("django_db")
    return bool(mark and mark.kwargs.get("transaction"))


def pytest_collection_finish() -> None:
    if METER:
        METER.mark("collection", "collection", "collection")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    yield from _metered(item, "setup")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    yield from _metered(item, "call")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    yield from _metered(item, "teardown")


def _metered(item: pytest.Item, phase: str) -> Iterator[None]:
    try:
        return (yield)
    finally:
        if METER:
            METER.mark(item.nodeid, phase, _kind(item))


def summarise() -> None:
    """Print the seconds by kind of test, by process, by folder, file and test."""
    lines = [json.loads(line) for line in OUT.read_text().splitlines()]
    seconds: dict[str, Counter[str]] = defaultdict(Counter)
    for line in lines:
        file = line["test"].partition("::")[0]
        keys = {
            "kind": line["kind"],
            "phase": line["phase"],
            "folder": str(Path(file).parent),
            "file": file,
            "test": line["test"].partition("[")[0],
        }
        for by, key in keys.items():
            seconds[by][key] += line["seconds"]
        seconds["process"].update(line["by"])
    print(f"{sum(line['seconds'] for line in lines):.0f} s in all")  # noqa: T201
    for by, counted in seconds.items():
        for key, value in counted.most_common(60 if by in ("file", "test") else 40):
            print(f"{by:8} {value:8.1f}  {key}")  # noqa: T201


if __name__ == "__main__":
    summarise()
