"""Runs a package client: within limits, told nothing of ours but which index to use, and ended with
all that it started when it takes too long, too much room, or nobody waits for it any more."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from catalog.servers.client import process_guard
from marketplace.installs.packages.package_folders import Place
from marketplace.installs.packages.package_problem import PackageProblemError

_LOOK_EVERY = 0.5
_MEASURE_EVERY = 3.0
_KEPT_LINES = 60
_LIMITS = {
    "memory_bytes": 2 * 1024**3,
    "processes": 100,
    "cpu_seconds": 900,
    "file_bytes": 1024**3,
    "open_files": 4_096,
}
# Which index the machine uses, and how it is reached. Nothing else of our environment goes along.
_PASSED = re.compile(
    r"PIP_(?:INDEX_URL|EXTRA_INDEX_URL|FIND_LINKS|NO_INDEX|TRUSTED_HOST|CERT|CLIENT_CERT|PROXY"
    r"|CONFIG_FILE|DEFAULT_TIMEOUT|TIMEOUT|RETRIES)"
    r"|NPM_CONFIG_(?:REGISTRY|USERCONFIG|GLOBALCONFIG|CAFILE|PROXY|HTTPS_PROXY|NOPROXY)"
    r"|(?:HTTPS?|ALL|NO)_PROXY|SSL_CERT_(?:FILE|DIR)|REQUESTS_CA_BUNDLE|NODE_EXTRA_CA_CERTS",
    re.IGNORECASE,
)
_BARE = {
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "PIP_NO_CACHE_DIR": "1",
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_COLOR": "1",
    "NO_COLOR": "1",
    "npm_config_update_notifier": "false",
}


@dataclass(frozen=True, slots=True)
class Watch:
    """Who waits for the client: hears its lines, and says whether to go on."""

    hears: Callable[[str], None] = lambda line: None
    goes_on: Callable[[], bool] = lambda: True


class NotWantedError(Exception):
    """Nobody waits for the package any more."""


def run_client(command: Sequence[str], place: Place, watch: Watch) -> tuple[int, str]:
    """The exit code and the last lines; PackageProblemError where it went too far."""
    held = {**_LIMITS, "parent": os.getpid()}
    # The keeper's parent is the thread that starts it, which waits here until it has ended.
    process = subprocess.Popen(  # noqa: S603 - a list from beginning to end
        [sys.executable, "-I", "-S", process_guard.__file__, json.dumps(held), "--", *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=client_environment(place, os.environ, program=command[0]),
        cwd=place.scratch,
        start_new_session=True,
    )
    heard = _Heard(process)
    try:
        _wait(process, place, watch, heard)
    finally:
        _end(process)
        heard.join()
    if process.returncode == process_guard.TOO_MUCH_MEMORY:
        raise PackageProblemError("package_too_large", "Fetching it took too much memory.")
    return process.returncode, heard.text


def client_environment(
    place: Place, environ: Mapping[str, str], *, program: str = ""
) -> dict[str, str]:
    """All that a package client gets to know."""
    passed = {name: value for name, value in environ.items() if _PASSED.fullmatch(name)}
    upper = {name.upper() for name in passed}
    home = Path(environ.get("HOME", "/nonexistent"))
    own = {
        "PIP_CONFIG_FILE": home / ".config" / "pip" / "pip.conf",
        "NPM_CONFIG_USERCONFIG": home / ".npmrc",
    }
    for name, file in own.items():
        if name not in upper and file.is_file():
            passed[name] = str(file)
    scratch = str(place.scratch)
    folders = dict.fromkeys((str(Path(program).parent), "/usr/local/bin", "/usr/bin", "/bin"))
    return {
        **_BARE,
        **passed,
        "HOME": scratch,
        "TMPDIR": scratch,
        "npm_config_cache": f"{scratch}/npm",
        "PATH": ":".join(folder for folder in folders if folder != "."),
    }


class _Heard:
    """What the client says, read in a thread so that it never waits for us."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._last: deque[str] = deque(maxlen=_KEPT_LINES)
        self._new: deque[str] = deque(maxlen=_KEPT_LINES)
        self._thread = threading.Thread(target=self._read, name="package client", daemon=True)
        self._thread.start()

    @property
    def text(self) -> str:
        """Its last lines."""
        return "\n".join(self._last)

    def new_lines(self) -> list[str]:
        """What it has said since the last look."""
        lines = []
        while self._new:
            lines.append(self._new.popleft())
        return lines

    def join(self) -> None:
        """Wait until the pipe is empty; whoever still holds it open was ended by the keeper."""
        self._thread.join(5)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - it was opened with a pipe
        while line := self._process.stdout.readline(4_096):
            text = line.decode(errors="replace").strip()
            if text:
                self._last.append(text)
                self._new.append(text)


def _wait(process: subprocess.Popen[bytes], place: Place, watch: Watch, heard: _Heard) -> None:
    deadline = time.monotonic() + settings.PEGBOARD_PACKAGE_SECONDS
    measured = time.monotonic()
    while process.poll() is None:
        try:
            process.wait(_LOOK_EVERY)
        except subprocess.TimeoutExpired:
            if time.monotonic() > deadline:
                raise PackageProblemError(
                    "package_too_slow", "Fetching it took too long. Try again later."
                ) from None
        for line in heard.new_lines():
            watch.hears(line)
        if not watch.goes_on():
            raise NotWantedError
        if time.monotonic() - measured > _MEASURE_EVERY:
            check_size(place)
            measured = time.monotonic()


def check_size(place: Place) -> None:
    """PackageProblemError where it is larger than a package may be."""
    most = settings.PEGBOARD_PACKAGE_MEGABYTES
    if place.bytes() > most * 1024**2:
        words = f"With all that it needs it has more than {most:,} MB"
        raise PackageProblemError("package_too_large", f"{words} (PEGBOARD_PACKAGE_MEGABYTES).")


def _end(process: subprocess.Popen[bytes]) -> None:
    """The keeper ends whatever the client started."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)
