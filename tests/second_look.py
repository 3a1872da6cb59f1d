"""Run the few tests that failed once more, alone, and name those that pass then.

    python -m pytest … || python -m tests.second_look $?

A busy machine must not refuse a change. What passes only now is a flaw all the same, of the test or
of the product: its name is printed last, so that someone looks for the cause. More than a few
failures are no accident, and a run that was broken off says nothing: neither gets a second look.

The part that is a pytest plugin keeps the names of what failed in pytest's cache.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from _pytest.terminal import TerminalReporter

KEY = "pegboard/failed"
MOST = 3
KEPT = Path(".pytest_cache/v") / KEY


def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    """Keep the names of the tests that failed, or whose fixtures did."""
    kinds = ("failed", "error")
    failed = {report.nodeid for kind in kinds for report in terminalreporter.stats.get(kind, ())}
    if cache := getattr(config, "cache", None):
        cache.set(KEY, sorted(failed))


def main(code: int, kept: Path = KEPT) -> int:
    """Return the exit code of the second look, or the first one where there is none."""
    failed = json.loads(kept.read_text()) if code == pytest.ExitCode.TESTS_FAILED else []
    if not 0 < len(failed) <= MOST:
        return code
    again = subprocess.run([sys.executable, "-m", "pytest", "-n0", *failed], check=False)  # noqa: S603 - ours
    if again.returncode == 0:
        passed = "\n  ".join(("PASSED ONLY AT THE SECOND LOOK. Find the cause of:", *failed))
        sys.stdout.write(f"{passed}\n")
    return again.returncode


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
