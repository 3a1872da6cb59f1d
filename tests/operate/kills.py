"""Kill each part of `manage.py up` under a steady load on a busy machine, as a table.

python -m tests.operate.kills              # with 8 processes that keep the cores busy
python -m tests.operate.kills 0 Broker     # with none, and only some parts
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

from tests.operate.load import Load, steady_load
from tests.ports import free_port

PROJECT = Path(__file__).parents[2]
RATE = 5  # requests a second: busy cores carry no more
SECONDS = 8.0  # of load before a kill, and after the part is back
PATIENCE = 300.0
_BUSY = "while True: pass"

# How a part is recognised among the descendants of `up`.
PARTS: dict[str, Callable[[psutil.Process], bool]] = {
    "Broker": lambda process: "broker" in process.cmdline(),
    "Worker": lambda process: "--beat" in process.cmdline(),
    "Connections": lambda process: "--queues=servers" in process.cmdline(),
    "Manifests": lambda process: "watch_capabilities" in process.cmdline(),
    "Redis": lambda process: process.name().startswith("valkey"),
    "Postgres": lambda process: process.name() == "postgres" and "-D" in process.cmdline(),
    "Web, one process": lambda process: (
        _is_gunicorn(process) and _is_gunicorn(psutil.Process(process.ppid()))
    ),
    "Web": lambda process: (
        _is_gunicorn(process) and not _is_gunicorn(psutil.Process(process.ppid()))
    ),
}


def _is_gunicorn(process: psutil.Process) -> bool:
    return "gunicorn" in process.cmdline()


class Product:
    """A running `manage.py up`."""

    def __init__(self, data: Path, port: int) -> None:
        self.data, self.port = data, port
        self.output = data.with_suffix(".output")
        self._environment = {
            **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
            "PEGBOARD_DATA_DIR": str(data),
            "HOME": str(data / "home"),
        }
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(  # noqa: S603 - ours
                [sys.executable, str(PROJECT / "manage.py"), "up", f"--port={port}"],
                env=self._environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def wait_for(self, condition: Callable[[], bool]) -> float:
        """Return the seconds until the condition holds."""
        began = time.monotonic()
        while not condition():
            if self.process.poll() is not None or time.monotonic() > began + PATIENCE:
                raise SystemExit(self.output.read_text())
            time.sleep(0.05)
        return time.monotonic() - began

    def command(self, *arguments: str) -> str:
        """Run a command of Pegboard's, and return what it prints."""
        return subprocess.run(  # noqa: S603 - ours
            [sys.executable, str(PROJECT / "manage.py"), *arguments],
            env=self._environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def find(self, part: str) -> psutil.Process | None:
        """Return the part's process."""
        for process in psutil.Process(self.process.pid).children(recursive=True):
            try:
                if PARTS[part](process):
                    return process
            except psutil.Error:  # it has just ended
                continue
        return None


def kill_under_load(product: Product, key: str, part: str) -> tuple[Load, float]:
    """Kill a part; return the load's answers and the seconds until the part runs again."""
    victim = product.find(part)
    if victim is None:
        raise SystemExit(f"{part} does not run")
    lines = product.output.read_text().count("ready in")
    with steady_load(product.port, key, rate=RATE, user="admin") as load:
        time.sleep(SECONDS)
        victim.send_signal(signal.SIGKILL)
        if part == "Web, one process":
            seconds = product.wait_for(lambda: product.find(part) not in {None, victim})
        else:
            seconds = product.wait_for(lambda: product.output.read_text().count("ready in") > lines)
        time.sleep(SECONDS)
    return load, seconds


@contextmanager
def busy_machine(processes: int) -> Iterator[None]:
    """Keep the cores busy with so many processes, which end with the block."""
    burners = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(processes)]  # noqa: S603
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def main() -> None:
    """Print the table."""
    busy = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    table = Table("killed", "requests", "not answered", "s until it runs", "and", show_lines=True)
    table.title = f"kill -9 under {RATE} selections a second, beside {busy} busy processes"
    with tempfile.TemporaryDirectory(prefix="pegboard-kills-") as name:
        product = Product(Path(name) / "data", free_port())
        try:
            product.wait_for(lambda: "Pegboard runs on" in product.output.read_text())
            options = ("--group=everyone", "--scope=select", "--acts-for-users", "--json")
            key = json.loads(product.command("create_api_key", *options))["key"]
            with busy_machine(busy):
                for part in sys.argv[2:] or PARTS:
                    load, seconds = kill_under_load(product, key, part)
                    problems = sorted({answer.told[:90] for answer in load.failed})
                    figures = (str(len(load.answers)), str(len(load.failed)), f"{seconds:.1f}")
                    table.add_row(part, *figures, "\n".join(problems))
            stopped = product.process.poll() is not None
        finally:
            product.process.send_signal(signal.SIGINT)
            product.process.wait(PATIENCE)
    Console(width=150).print(table)
    sys.stdout.write(f"Pegboard {'stopped' if stopped else 'never stopped'}.\n")


if __name__ == "__main__":
    main()
