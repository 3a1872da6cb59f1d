"""Operations on a running Pegboard under a steady load, as a table.

make operations                       # each with ten seconds before, during and after
python -m tests.operate 3 restore model    # other seconds, and only some
"""

import os
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from catalog.embedding.shipped_model import prepare_model


def main() -> None:
    """Run all on one deployment; `stop` is last and ends the web server."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.config.settings")
    os.environ["PEGBOARD_SECRET_KEY"] = "only-for-this-run"
    with tempfile.TemporaryDirectory(prefix="pegboard-operations-") as name:
        os.environ["PEGBOARD_DATA_DIR"] = name
        prepare_model(Path(name) / "model")
        _run()


def _run() -> None:
    import django

    django.setup()
    from lab.bench.machine import describe_machine
    from tests.operate.deployment import deployed, migrated
    from tests.operate.scenarios import SCENARIOS

    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    console, table = Console(width=150), _table()
    console.print(describe_machine())
    with deployed(migrated) as deployment:
        deployment.start("web", "worker")
        for name in sys.argv[2:] or SCENARIOS:
            console.print(f"{name} …")
            told = SCENARIOS[name](deployment, seconds)
            load, more = told.load, [f"{key}: {value}" for key, value in told.figures.items()]
            table.add_row(
                *(name, str(len(load.answers)), str(len(load.failed))),
                *(f"{load.p(0.5):.0f} / {load.p(0.95):.0f} / {load.p(1):.0f}",),
                "\n".join([*more, *(f"[red]{problem}[/]" for problem in told.problems)]),
            )
    console.print(table)


def _table() -> Table:
    table = Table("", "requests", "not answered", "ms, p50 / p95 / most", "and", show_lines=True)
    table.title = "Under a steady load on loopback"
    return table


if __name__ == "__main__":
    main()
