"""A selection's cost at an earlier commit and now, in one run, by turns.

    python -m lab.bench.before 4bab731 --clients 8 50 --seconds 4 --turns 3

Figures of two days compare machines. Here both run in the same minutes, each with its own code and
the packages of its own lock files, and the medians of the turns are compared. What follows the
commit goes to `lab.bench.cost`, which that commit has to have.
"""

import argparse
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median

from lab.bench.machine import describe_machine

HERE = Path(__file__).parents[2]
TURNS = 3
SHOWN = ("requests/s", "p50 ms", "CPU ms: Postgres", "web", "Postgres + web")
LOCKS = ("tests/requirements.lock", "tests/sentence-transformers.txt")

Row = dict[str, str]


def main() -> int:
    """Measure both by turns, and print the medians and their ratios."""
    options, arguments = _options()
    with tempfile.TemporaryDirectory(prefix="pegboard-before-") as name:
        earlier = Path(name)
        earlier.chmod(0o711)  # the account of Postgres passes through
        _check_out(options.commit, earlier)
        if not (earlier / "lab/bench/cost.py").exists():
            sys.stderr.write(f"{options.commit} has no lab.bench.cost to measure it with.\n")
            return 1
        _prepare(earlier)
        told: dict[str, list[Row]] = defaultdict(list)
        for _ in range(options.turns):
            told["before"] += _measure(earlier, arguments)
            told["now"] += _measure(HERE, arguments)
    sys.stdout.write(f"{describe_machine()}\n\n{compare(told['before'], told['now'])}\n")
    return 0


def _options() -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser()
    parser.add_argument("commit")
    parser.add_argument("--turns", type=int, default=TURNS)
    return parser.parse_known_args()


def _check_out(commit: str, folder: Path) -> None:
    archive = subprocess.run(  # noqa: S603 - our own repository
        ["git", "archive", commit],  # noqa: S607
        cwd=HERE,
        check=True,
        stdout=subprocess.PIPE,
    )
    subprocess.run(["tar", "-x"], cwd=folder, input=archive.stdout, check=True)  # noqa: S607


def _prepare(folder: Path) -> None:
    """Give it our environment, or one of its own where its lock files name other packages."""
    if all(_same(folder / lock, HERE / lock) for lock in LOCKS):
        (folder / ".venv").symlink_to(HERE / ".venv")
    else:
        subprocess.run(["make", "python-tests"], cwd=folder, check=True, stdout=sys.stderr)  # noqa: S607


def _same(one: Path, other: Path) -> bool:
    return one.exists() and one.read_bytes() == other.read_bytes()


def _measure(folder: Path, arguments: list[str]) -> list[Row]:
    command = [str(folder / ".venv/bin/python"), "-m", "lab.bench.cost", *arguments]
    run = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    return rows_of(run.stdout)


def rows_of(told: str) -> list[Row]:
    """Return the rows of the table in the text, by the names of its columns."""
    lines = [line.strip("| ").split(" | ") for line in told.splitlines() if line.startswith("| ")]
    return [dict(zip(lines[0], line, strict=True)) for line in lines[1:]] if lines else []


def compare(before: list[Row], now: list[Row]) -> str:
    """Return a table of the medians before and now, and of their ratios."""
    head = ["clients", "", *SHOWN, "failed"]
    lines = [head, ["--:", "---", *["--:"] * (len(SHOWN) + 1)]]
    for clients in dict.fromkeys(row["clients"] for row in now):
        medians = [_medians(rows, clients) for rows in (before, now)]
        ratios = [f"{after / earlier:.2f}" for earlier, after in zip(*medians, strict=True)]
        for name, rows, figures in zip(("before", "now"), (before, now), medians, strict=True):
            shown = [f"{figure:.1f}" for figure in figures]
            lines.append([clients, name, *shown, _failed(rows, clients)])
        lines.append([clients, "ratio", *ratios, ""])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _medians(rows: list[Row], clients: str) -> list[float]:
    some = [row for row in rows if row["clients"] == clients]
    return [median(float(row[name]) for row in some) for name in SHOWN]


def _failed(rows: list[Row], clients: str) -> str:
    some = [row["failed"] for row in rows if row["clients"] == clients]
    return "; ".join(each for each in some if each != "0") or "0"


if __name__ == "__main__":
    sys.exit(main())
