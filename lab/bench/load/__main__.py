"""Load on all of Pegboard, one line for each goal.

    python -m lab.bench.load                       # all of them, half an hour
    python -m lab.bench.load cold execute          # only some
    python -m lab.bench.load --seconds 10          # each shortened to so many seconds
    python -m lab.bench.load --seconds 5 --tools 500   # does it run at all

Web, worker, connections, Postgres and Redis are started as `make run` starts them, on loopback and
in a folder that goes afterwards. The generator keeps to one core. Run it on a quiet machine.
"""

import argparse
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from lab.bench.inside import servers
from lab.bench.load.names import LOADS, SECONDS
from lab.bench.machine import describe_machine
from tests.ports import free_port

if TYPE_CHECKING:
    from lab.bench.load.rows import Row

HEAD = "| load | goal | answers | p50 ms | p95 ms | p99 ms | errors | CPU s a request | met | |"


def main() -> None:
    """Start the servers, then run the loads of each size in a process that knows them."""
    options = _options()
    if options.inside:
        _measure(options.loads, options.seconds, options.tools)
        return
    _tell(f"{describe_machine()}\n\n{HEAD}\n|---|---|--:|--:|--:|--:|--:|--:|---|---|")
    wanted = options.loads or list(LOADS)
    with servers() as opened:
        for size in sorted({LOADS[name] for name in wanted}):
            names = [name for name in wanted if LOADS[name] == size]
            command = [sys.executable, "-m", "lab.bench.load", "--inside", *names]
            for name in ("seconds", "tools"):
                if getattr(options, name):
                    command += [f"--{name}", str(getattr(options, name))]
            echo = free_port()
            environment = opened(f"load_{size}") | {
                "PEGBOARD_TEST_ECHO_PORT": str(echo),
                "PEGBOARD_ALLOWED_PRIVATE_HOSTS": f"127.0.0.1:{echo}",
            }
            subprocess.run(command, env=environment, check=True)  # noqa: S603 - ourselves


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("loads", nargs="*", help=", ".join(LOADS))
    parser.add_argument("--seconds", type=float, help="instead of each load's own time")
    parser.add_argument("--tools", type=int, help="instead of each world's own size")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def _measure(names: list[str], seconds: float | None, tools: int | None) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.config.settings")
    import django

    django.setup()
    from django.core.management import call_command

    from catalog.embedding.configured_embedder import answering_embedder
    from lab.bench.load.product import running
    from lab.bench.load.rows import ROWS, Callers, wake
    from lab.bench.world import build_world

    call_command("migrate", verbosity=0)
    model = answering_embedder().name
    build_world(capabilities=tools or LOADS[names[0]], users=1_000, groups=50, model=model)
    callers = Callers.of_the_world()
    with running() as product:
        wake(product, callers)
        for name in names:
            _tell(_line(ROWS[name](product, callers, seconds or SECONDS[name])))


def _line(row: "Row") -> str:
    load = row.load
    errors = ", ".join(f"{count} x {reason}" for reason, count in load.errors.most_common(3))
    times = " | ".join(f"{load.p(percent):.1f}" for percent in (50, 95, 99))
    cpu = load.cpu_seconds / max(1, load.requests)
    met = "yes" if row.met else "**no**"
    return (
        f"| {row.name} | {row.goal} | {len(load.milliseconds)} | {times} | {errors or 0} "
        f"| {cpu:.4f} | {met} | {row.more} |"
    )


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
