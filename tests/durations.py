"""A pytest plugin: longest files first, by the run before; and a quick choice for `--quick`.

pytest's cache keeps how long each test function took with all its cases, and with its dearest one,
which is usually the first: it makes what the others share. Files that it does not know, as in a
fresh clone, are estimated by the fixtures and markers of their tests.
"""

from collections import Counter, defaultdict

import pytest

KEY = "pegboard/test-durations"
# Seconds of a test that no run has timed. Only their order matters, not how fast a machine is.
BROWSER, PROCESSES, EXAMPLES, TRANSACTION, DATABASE, PURE = 4.0, 6.0, 3.0, 0.6, 0.1, 0.02
COMMITTING = {"browser", "live_server", "transactional_db", "deployment", "own_database"}
QUICK_SECONDS = 50.0  # of all workers together; two of them take half, and start for as long

# Of a function: seconds, of how many cases, and of the dearest of them.
Durations = dict[str, tuple[float, int, float]]


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "one case of each quick test, as many as fit into a minute: what `make check` runs"
    parser.addoption("--quick", action="store_true", help=text)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the longest files first, so that in the end no worker waits for another one."""
    known = _cached(config)
    if config.getoption("--quick"):
        _keep_quick(config, items, known)
    seconds = _seconds_of_files(items, known)
    # A file stays in one piece, or what its tests share would be made again.
    items.sort(key=lambda item: (-seconds[file_of(item.nodeid)], file_of(item.nodeid)))


def _keep_quick(config: pytest.Config, items: list[pytest.Item], known: Durations) -> None:
    """Keep the first case of each function that starts nothing, the quickest within the time.

    Of those that cost the same, each folder gets as many as the others.
    """
    first: dict[str, pytest.Item] = {}
    for item in items:
        if not is_slow(item):
            first.setdefault(function_of(item.nodeid), item)
    costs = {name: _seconds_of_first(item, known) for name, item in first.items()}
    turns, counts = dict[str, int](), Counter[str]()
    for name in first:
        turns[name] = counts[folder := name.rpartition("/")[0]]
        counts[folder] += 1
    kept, left = set(), QUICK_SECONDS
    for name in sorted(costs, key=lambda name: (costs[name], turns[name])):
        left -= costs[name]
        if left >= 0:
            kept.add(first[name])
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def _seconds_of_case(item: pytest.Item, known: Durations) -> float:
    seconds, cases, _ = known.get(function_of(item.nodeid), (estimate(item), 1, 0.0))
    return seconds / cases


def _seconds_of_first(item: pytest.Item, known: Durations) -> float:
    return known.get(function_of(item.nodeid), (0.0, 1, estimate(item)))[2]


def _seconds_of_files(items: list[pytest.Item], known: Durations) -> dict[str, float]:
    seconds: dict[str, float] = defaultdict(float)
    for item in items:
        seconds[file_of(item.nodeid)] += _seconds_of_case(item, known)
    return seconds


def estimate(item: pytest.Item) -> float:
    """Estimate a test by what it starts, or by the time that its own timeout grants it."""
    limit = item.get_closest_marker("timeout")
    granted = limit.args[0] / 10 if limit and limit.args else 0.0
    if item.get_closest_marker("processes"):
        kind = PROCESSES
    elif "browser" in _fixtures(item):
        kind = BROWSER
    elif has_examples(item):
        kind = EXAMPLES
    elif commits(item):
        kind = TRANSACTION
    else:
        kind = DATABASE if uses_database(item) else PURE
    return float(max(granted, kind))


def is_slow(item: pytest.Item) -> bool:
    """Tell whether it needs seconds, a browser, other processes, or a database to commit to."""
    markers = ("browser", "processes", "reference", "long")
    return commits(item) or any(item.get_closest_marker(name) for name in markers)


def commits(item: pytest.Item) -> bool:
    """Tell whether the test commits, so that all tables are emptied after it."""
    mark = item.get_closest_marker("django_db")
    return bool((mark and mark.kwargs.get("transaction")) or _fixtures(item) & COMMITTING)


def has_examples(item: pytest.Item) -> bool:
    """Tell whether Hypothesis runs the test's body with many examples."""
    return bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))


def uses_database(item: pytest.Item) -> bool:
    """Tell whether the test asks for the database by its marker or a fixture."""
    return item.get_closest_marker("django_db") is not None or "db" in _fixtures(item)


def _fixtures(item: pytest.Item) -> set[str]:
    return set(getattr(item, "fixturenames", ()))


def function_of(nodeid: str) -> str:
    """Return the test's id without its case."""
    return nodeid.partition("[")[0]


def file_of(nodeid: str) -> str:
    """Return the path of the test's file."""
    return nodeid.partition("::")[0]


def _cached(config: pytest.Config) -> Durations:
    cache = getattr(config, "cache", None)
    known = (cache.get(KEY, None) if cache else None) or {}
    # What another version has kept is of another form: it is timed again.
    return {name: (one[0], one[1], one[2]) for name, one in known.items() if len(one) == 3}


class Stopwatch:
    """Add up how long all phases of each function's cases took, and keep it in pytest's cache."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.cases: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a phase of a test."""
        self.cases[function_of(report.nodeid)][report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Write what this run has timed beside what earlier runs have.

        A quick run times one case of each test: it adds only what no run has timed.
        """
        cache = getattr(self.config, "cache", None)
        if cache and self.cases:
            now = {
                name: (round(sum(each.values()), 3), len(each), round(max(each.values()), 3))
                for name, each in self.cases.items()
            }
            before = _cached(self.config)
            quick = self.config.getoption("--quick")
            cache.set(KEY, now | before if quick else before | now)


def pytest_configure(config: pytest.Config) -> None:
    """Register the stopwatch in the process that gets the reports of all workers."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Stopwatch(config), "pegboard-stopwatch")
