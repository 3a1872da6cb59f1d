"""`make first-steps`: the README's own commands, from an empty folder to a first selection.

Clones this repository into an empty folder, reads the commands of the first two sections of its
README, and runs them as they stand: `make run` in one shell until Pegboard is up, the others in a
second one. No command is repeated here; only the port changes if PORT is set. Prints a table of the
time for each step. Standard library only.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.docs.commands import commands_in

HERE = Path(__file__).parents[1]
SECTIONS = ("## Two commands", "## The first selection")
READY = "Pegboard runs on"
LONGEST_SECONDS = 1800


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="first-steps-"))
    took: list[tuple[str, float]] = []
    serving: subprocess.Popen[str] | None = None
    try:
        begun = time.monotonic()
        checkout = folder / "pegboard"
        _run(["git", "clone", "--quiet", str(HERE), str(checkout)], cwd=folder)
        took.append(("an empty folder with a clone", time.monotonic() - begun))
        first, *others = first_commands(checkout)
        serving, seconds = _serve(first, checkout)
        took.append((first, seconds))
        at = time.monotonic()
        answer = json.loads(_run(["bash", "-euc", "\n".join(others)], cwd=checkout))
        took.append(("the others: " + " · ".join(text.split()[0] for text in others),
                     time.monotonic() - at))  # fmt: skip
        took.append(("together", time.monotonic() - begun))
    finally:
        if serving is not None:
            _stop(serving)
        shutil.rmtree(folder, ignore_errors=True)
    _say("", "| step | seconds |", "|---|--:|")
    _say(*(f"| `{step}` | {seconds:.1f} |" for step, seconds in took))
    names = [each["full_name"] for each in answer["selected"]]
    _say("", f"Selected: {', '.join(names)}. Tokens saved: {answer['tokens']['saved']}.")
    is_useful = names[:1] == ["slack"] and not answer["degraded"]
    _say("This is a useful selection." if is_useful else "This is NOT a useful selection.")
    return 0 if is_useful else 1


def first_commands(checkout: Path) -> list[str]:
    """Return the commands of the README's first sections, with the requested port."""
    readme = checkout / "README.md"
    lines = readme.read_text("utf-8").splitlines()
    wanted = set[int]()
    inside = False
    for number, line in enumerate(lines, 1):
        if line.startswith("## "):
            inside = line in SECTIONS
        if inside:
            wanted.add(number)
    port = os.environ.get("PORT", "8000")
    texts = [each.text for each in commands_in(readme) if each.line in wanted]
    texts = [text.replace("localhost:8000", f"localhost:{port}") for text in texts]
    return [re.sub("^make run$", f"make run PORT={port}", text) for text in texts]


def _environment() -> dict[str, str]:
    """Return a newcomer's environment, without variables set by this repository's commands."""
    mine = re.compile("PEGBOARD_|DJANGO_|PYTHON|VIRTUAL_ENV|DATABASE_URL|REDIS_URL|MAKE|MFLAGS")
    return {name: value for name, value in os.environ.items() if not mine.match(name)}


def _run(words: list[str], *, cwd: Path) -> str:
    done = subprocess.run(  # noqa: S603 (what the README says)
        words, cwd=cwd, env=_environment(), check=False, text=True, capture_output=True
    )
    if done.returncode:
        raise SystemExit(f"{words[-1]}\n{done.stderr}")
    return done.stdout


def _serve(command: str, cwd: Path) -> tuple[subprocess.Popen[str], float]:
    """Start the server, forward its output, and return when it is ready."""
    begun = time.monotonic()
    serving = subprocess.Popen(  # noqa: S603 (what the README says)
        ["bash", "-c", f"exec {command}"],  # noqa: S607 (the newcomer's)
        cwd=cwd,
        env=_environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    for line in serving.stdout or ():
        _say(re.sub(r"(password )\S+", r"\1…", line.rstrip()))
        if READY in line:
            return serving, time.monotonic() - begun
        if time.monotonic() - begun > LONGEST_SECONDS:
            break
    _stop(serving)
    raise SystemExit("Pegboard did not start.")


def _stop(serving: subprocess.Popen[str]) -> None:
    """Send Ctrl-C, as in the newcomer's terminal."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(serving.pid, signal.SIGINT)
    try:
        serving.wait(60)
    except subprocess.TimeoutExpired:
        os.killpg(serving.pid, signal.SIGKILL)


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
