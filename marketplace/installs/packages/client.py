"""Runs package clients with limits and a minimal environment.

A client and everything it started is stopped if it takes too long or too much space, or if its
result is no longer wanted.
"""

import configparser
import os
import re
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from catalog.servers.client import process_guard
from marketplace.installs.packages._client_cell import enter_cell
from marketplace.installs.packages.folders import PackageProblemError, Place

# pip's settings of the index, as variables for uv: operators configure one client only.
# Read from pip's variables and files, in pip's own order. uv reads neither.

SYSTEM_FILE = Path("/etc/pip.conf")
_SECTIONS = ("global", "install")
_TRUE = frozenset({"1", "true", "yes", "on"})


def uv_variables(
    environment: Mapping[str, str], *, system_file: Path = SYSTEM_FILE
) -> dict[str, str]:
    """Return the variables that make uv use the index that pip would use."""
    settings = _read_settings(environment, system_file)
    variables = {
        name: value
        for option, (name, convert) in _OPTIONS.items()
        if (value := convert(settings.get(option, "")))
    }
    # As pip does: the best version of all indexes, which the pins then hold.
    return {"UV_INDEX_STRATEGY": "unsafe-best-match", "UV_SYSTEM_CERTS": "true", **variables}


def has_index(environment: Mapping[str, str], *, system_file: Path = SYSTEM_FILE) -> bool:
    """Return False if pip is told to use folders only; uv has no variable for it."""
    no_index = _read_settings(environment, system_file).get("no-index", "")
    return no_index.strip().lower() not in _TRUE


def _read_settings(environment: Mapping[str, str], system_file: Path) -> dict[str, str]:
    parser = configparser.RawConfigParser()
    for file in (system_file, Path(environment.get("PIP_CONFIG_FILE", "/nonexistent"))):
        try:
            parser.read_string(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, configparser.Error):
            continue
    options: dict[str, str] = {}
    for section in filter(parser.has_section, _SECTIONS):
        options |= {name.replace("_", "-"): value for name, value in parser.items(section)}
    for name, value in environment.items():
        if name.upper().startswith("PIP_"):
            options[name[4:].lower().replace("_", "-")] = value
    return options


def _words(separator: str) -> Callable[[str], str]:
    return lambda text: separator.join(text.split())


def _addresses(text: str) -> str:
    """Return uv's list of folders and addresses."""
    return ",".join(re.split(r"[\s,]+", text.strip()))


def _same(text: str) -> str:
    return text.strip()


_OPTIONS: dict[str, tuple[str, Callable[[str], str]]] = {
    "index-url": ("UV_DEFAULT_INDEX", _same),
    "extra-index-url": ("UV_INDEX", _words(" ")),
    "find-links": ("UV_FIND_LINKS", _addresses),
    "trusted-host": ("UV_INSECURE_HOST", _words(" ")),
    "cert": ("SSL_CERT_FILE", _same),
    "client-cert": ("SSL_CLIENT_CERT", _same),
    "proxy": ("ALL_PROXY", _same),
    "default-timeout": ("UV_HTTP_TIMEOUT", _same),
    "timeout": ("UV_HTTP_TIMEOUT", _same),
    "retries": ("UV_HTTP_RETRIES", _same),
}


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
# Of a build, which runs a stranger's code.
BUILD_LIMITS = {
    "memory_bytes": 1024**3,
    "processes": 64,
    "cpu_seconds": 120,
    "file_bytes": 100 * 1024**2,
    "open_files": 1_024,
    "disk_bytes": 300 * 1024**2,
}
# Variables that select the index and how to reach it. No others are passed on.
_PASSED_VARIABLES = re.compile(
    r"PIP_(?:INDEX_URL|EXTRA_INDEX_URL|FIND_LINKS|NO_INDEX|TRUSTED_HOST|CERT|CLIENT_CERT|PROXY"
    r"|CONFIG_FILE|DEFAULT_TIMEOUT|TIMEOUT|RETRIES)"
    r"|NPM_CONFIG_(?:REGISTRY|USERCONFIG|GLOBALCONFIG|CAFILE|PROXY|HTTPS_PROXY|NOPROXY)"
    r"|(?:HTTPS?|ALL|NO)_PROXY|SSL_CERT_(?:FILE|DIR)|REQUESTS_CA_BUNDLE|NODE_EXTRA_CA_CERTS",
    re.IGNORECASE,
)
_BASE_ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "UV_NO_CONFIG": "1",
    "UV_PYTHON_DOWNLOADS": "never",
    "UV_NO_PROGRESS": "1",
    "NO_COLOR": "1",
    "npm_config_update_notifier": "false",
}


# Without the index, and whatever is configured to reach it.
BARE_ENVIRONMENT = {**_BASE_ENVIRONMENT, "PATH": "/usr/local/bin:/usr/bin:/bin"}


@dataclass(frozen=True, slots=True)
class Watch:
    """Callbacks of the caller: receives output lines, and decides whether to continue."""

    on_line: Callable[[str], None] = lambda line: None
    is_wanted: Callable[[], bool] = lambda: True


class NoLongerWantedError(Exception):
    """The package is no longer wanted."""


def run_client(
    command: Sequence[str],
    place: Place,
    watch: Watch,
    *,
    readable: Sequence[Path] | None = None,
    environment: Mapping[str, str] | None = None,
    limits: Mapping[str, Any] = _LIMITS,
    seconds: int = 0,
) -> tuple[int, str]:
    """Return the exit code and last lines of a client; PackageProblemError beyond its limits.

    With `readable`, it reads these files and has no network. `environment` replaces the client's.
    """
    environment = dict(environment or client_environment(place, os.environ, program=command[0]))
    with enter_cell(command, place, environment, readable=readable) as celled:
        # The guard's parent is the thread that starts it, which waits here until it has ended.
        process = subprocess.Popen(  # noqa: S603 - a list from beginning to end
            process_guard.start_command({**limits, **celled.limits}, celled.command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=place.scratch,
            start_new_session=True,
            pass_fds=celled.descriptors,
        )
        output = _OutputReader(process)
        celled.serve()
        try:
            _wait(process, place, watch, output, seconds or settings.PEGBOARD_PACKAGE_SECONDS)
        finally:
            # Stop the guard, which ends whatever the client started.
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait(5)
            output.join()
    if process.returncode == process_guard.TOO_MUCH_MEMORY:
        raise PackageProblemError("package_too_large", "Fetching the package took too much memory.")
    return process.returncode, output.text


def client_environment(
    place: Place, environ: Mapping[str, str], *, program: str = ""
) -> dict[str, str]:
    """Build the environment of a package client."""
    passed = {name: value for name, value in environ.items() if _PASSED_VARIABLES.fullmatch(name)}
    upper = {name.upper() for name in passed}
    home = Path(environ.get("HOME", "/nonexistent"))
    config_files = {
        "PIP_CONFIG_FILE": home / ".config" / "pip" / "pip.conf",
        "NPM_CONFIG_USERCONFIG": home / ".npmrc",
    }
    for name, file in config_files.items():
        if name not in upper and file.is_file():
            passed[name] = str(file)
    scratch = str(place.scratch)
    folders = dict.fromkeys((str(Path(program).parent), "/usr/local/bin", "/usr/bin", "/bin"))
    return {
        **_BASE_ENVIRONMENT,
        **passed,
        **uv_variables(passed),
        "HOME": scratch,
        "TMPDIR": scratch,
        "UV_CACHE_DIR": str(place.cache),
        "npm_config_cache": f"{scratch}/npm",
        "PATH": ":".join(folder for folder in folders if folder != "."),
    }


class _OutputReader:
    """Reads the client's output in a thread, so that its pipe never fills up."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._last: deque[str] = deque(maxlen=_KEPT_LINES)
        self._new: deque[str] = deque(maxlen=_KEPT_LINES)
        self._thread = threading.Thread(target=self._read, name="package client", daemon=True)
        self._thread.start()

    @property
    def text(self) -> str:
        """The last lines."""
        return "\n".join(self._last)

    def new_lines(self) -> list[str]:
        """Return the lines since the last call."""
        lines = []
        while self._new:
            lines.append(self._new.popleft())
        return lines

    def join(self) -> None:
        """Wait until the pipe is drained. The guard has ended everything that held it open."""
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


def _wait(
    process: subprocess.Popen[bytes],
    place: Place,
    watch: Watch,
    output: _OutputReader,
    seconds: int,
) -> None:
    deadline = time.monotonic() + seconds
    measured = time.monotonic()
    while process.poll() is None:
        try:
            process.wait(_LOOK_EVERY)
        except subprocess.TimeoutExpired:
            if time.monotonic() > deadline:
                raise PackageProblemError(
                    "package_too_slow",
                    f"Fetching the package took too long: more than {seconds:,} seconds, which an "
                    "operator can change (PEGBOARD_PACKAGE_SECONDS).",
                ) from None
        for line in output.new_lines():
            watch.on_line(line)
        if not watch.is_wanted():
            raise NoLongerWantedError
        if time.monotonic() - measured > _MEASURE_EVERY:
            check_size(place)
            measured = time.monotonic()


def check_size(place: Place) -> None:
    """Raise PackageProblemError if the package exceeds the size limit."""
    most = settings.PEGBOARD_PACKAGE_MEGABYTES
    if place.bytes() > most * 1024**2:
        words = f"With its dependencies, it has more than {most:,} MB"
        raise PackageProblemError("package_too_large", f"{words} (PEGBOARD_PACKAGE_MEGABYTES).")
