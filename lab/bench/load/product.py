"""A complete Pegboard for a load: web, worker and connections on servers of its own."""

import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from lab.bench.load.arrivals import Load
from marketplace.operate.embedded.pegboard_programs import ConnectionsProgram, Program, Web, Worker
from tests.ports import free_port


class Product:
    """The running programs. Their costs are read from the operating system."""

    def __init__(self, port: int, programs: list[Program]) -> None:
        self.port = port
        self._programs = programs
        # Postgres and Redis are children of the process that started this one.
        self._servers = psutil.Process(os.getppid())

    def costing(self, load: Callable[[], Load]) -> Load:
        """Run a load; return it with the CPU time that the product used."""
        before = sum(self.cpu_by_process().values())
        done = load()
        done.cpu_seconds = sum(self.cpu_by_process().values()) - before
        return done

    def resident_megabytes(self) -> float:
        """Return the memory of our own programs, without Postgres's shared pages."""
        return sum(each.memory_info().rss for each in self._own()) / 1_000_000

    def open_files(self) -> int:
        """Return the number of file descriptors that our own programs have open."""
        return sum(each.num_fds() for each in self._own())

    def _own(self) -> list[psutil.Process]:
        roots = [psutil.Process(one.process.pid) for one in self._programs if one.process]
        return [each for root in roots for each in (root, *root.children(recursive=True))]

    def cpu_by_process(self) -> dict[str, float]:
        """Return the CPU seconds used so far by Postgres, Redis, and each of our programs."""
        spent: defaultdict[str, float] = defaultdict(float)
        for name, process in (*self._started_before(), *self._by_program()):
            spent[name] += _used(process)
        return dict(spent)

    def _started_before(self) -> Iterator[tuple[str, psutil.Process]]:
        own = psutil.Process()
        others = {each.pid for each in own.children(recursive=True)} | {own.pid}
        # Postgres's backends come and go: the parent's figures include those that ended.
        for each in self._servers.children(recursive=True):
            if each.pid not in others:
                yield _name(each), each

    def _by_program(self) -> Iterator[tuple[str, psutil.Process]]:
        for one in self._programs:
            if one.process:
                root = psutil.Process(one.process.pid)
                yield from ((one.name, each) for each in (root, *root.children(recursive=True)))


def _name(process: psutil.Process) -> str:
    try:
        return "Postgres" if "postgres" in process.name() else "Redis"
    except psutil.Error:  # it has ended meanwhile
        return "Postgres"


def _used(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.Error:  # it has ended meanwhile
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)


@contextmanager
def running() -> Iterator[Product]:
    """Start the programs on the environment's database, and pin the generator to a core."""
    from catalog.servers.secrets.encryption_keys import add_key

    data = Path(os.environ["PEGBOARD_DATA_DIR"])
    (data / "logs").mkdir(exist_ok=True)
    if not (data / "encryption_keys").exists():
        add_key(data / "encryption_keys")
    port, environment = free_port(), dict(os.environ)
    programs: list[Program] = [
        Web(host="127.0.0.1", port=port, logs=data / "logs", environment=environment),
        Worker(data=data, environment=environment),
        ConnectionsProgram(logs=data / "logs", environment=environment),
    ]
    cores = os.sched_getaffinity(0)
    try:
        for program in programs:
            program.start()
        os.sched_setaffinity(0, {max(cores)})  # as `taskset` would; children keep all cores
        yield Product(port, programs)
    finally:
        os.sched_setaffinity(0, cores)
        for program in reversed(programs):
            program.stop()
