"""The layout of `docker/` on a real engine: a copy of a checkout, under a name of its own.

The engine and its images come from the environment (`DOCKER_HOST`, `DOCKER_CONFIG`), and what a
machine needs in addition from two variables: `PEGBOARD_TEST_COMPOSE` names more compose files,
separated by colons, and `PEGBOARD_TEST_BUILD_OPTIONS` has options for `docker build`.
"""

import json
import os
import re
import shutil
import ssl
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx

from tests.docs.commands import PROJECT, commands_in
from tests.operate.load import Load, steady_load
from tests.ports import free_port

NAME = "pegboard-containers"
RATE = 5  # selections a second
PATIENCE = 180  # seconds until a wait fails
ONCE = {"roles", "set-up", "backup"}
_COMMAND_SECONDS = 1800  # the first build fetches all packages
_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_IN_PROSE = re.compile(r"`(docker compose [^`]+)`")
_OF_CONTAINERS = re.compile(r"docker (compose|build|buildx) |docker/\w+\.sh|c(p|at) docker/")


def missing_engine() -> str:
    """Return what a run lacks, in a sentence, or ""."""
    if shutil.which("docker") is None:
        return "There is no `docker`: install Docker's client, and name its engine in DOCKER_HOST."
    for command, need in (
        (["docker", "version"], "An engine that answers (DOCKER_HOST names it)"),
        (["docker", "compose", "version"], "The plugin `docker compose`"),
        (["docker", "buildx", "version"], "The plugin `docker buildx`"),
    ):
        answer = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if answer.returncode:
            return f"{need} is missing: {answer.stderr.strip()[-300:]}"
    return ""


def git(*arguments: str, check: bool = True) -> bytes:
    """Run git in this checkout; return its standard output."""
    command = [shutil.which("git") or "git", *arguments]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, check=check).stdout  # noqa: S603


def copy_checkout(folder: Path, revision: str = "") -> Path:
    """Copy the files of this checkout, or those of an earlier revision."""
    folder.mkdir(parents=True)
    if revision:
        with tarfile.open(fileobj=BytesIO(git("archive", revision))) as archive:
            archive.extractall(folder, filter="data")
        return folder
    listing = git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, listing.decode().split("\0")):
        if (PROJECT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, folder / name)
    return folder


def documented_commands() -> list[str]:
    """Return each command of the docs that is about containers, once, in the order of pages."""
    commands: dict[str, None] = {}
    for page in [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]:
        in_blocks = [(command.line, command.text) for command in commands_in(page)]
        prose = _BLOCK.sub(lambda block: "\n" * block[0].count("\n"), page.read_text("utf-8"))
        in_prose = [
            (prose.count("\n", 0, match.start()) + 1, " ".join(match[1].split()))
            for match in _IN_PROSE.finditer(prose)
        ]
        for _, text in sorted(in_blocks + in_prose):
            if _OF_CONTAINERS.match(text):
                commands[text] = None
    return list(commands)


class Layout:
    """A copy of a checkout, whose containers, volumes and images are the test's alone."""

    def __init__(self, checkout: Path, *, tag: str) -> None:
        self.checkout = checkout
        self.tag = tag
        self.port = free_port()
        self.key = ""
        self.figures: list[tuple[str, str]] = []
        self._extra = [Path(name) for name in _variable("PEGBOARD_TEST_COMPOSE").split(":") if name]
        files = [checkout / "docker" / "compose.yaml", *self._extra]
        # Settings of the tests' own servers are none of the layout's.
        self._environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PEGBOARD_", "DATABASE_", "REDIS_"))
        } | {
            "COMPOSE_PROJECT_NAME": NAME,
            "COMPOSE_FILE": ":".join(map(str, files)),
            "IMAGE_TAG": tag,
            "HTTP_PORT": str(free_port()),
            "HTTPS_PORT": str(self.port),
            "PEGBOARD_TRUSTED_ORIGINS": f"https://localhost:{self.port}",
        }
        # A checkout of before `IMAGE_TAG` would take the name of an installation's image.
        compose = files[0].read_text()
        files[0].write_text(
            re.sub(r"image: (pegboard[\w-]*):(?!\$).+", rf"image: \1:{tag}", compose)
        )

    @property
    def address(self) -> str:
        return f"https://localhost:{self.port}"

    def run(self, command: str, *, allowed: tuple[int, ...] = (0,)) -> str:
        """Run a command as the docs write it; return its standard output."""
        folder = self.checkout
        if command.startswith("docker compose -f docker/"):
            extra = " ".join(f"-f {file}" for file in self._extra)
            command = command.replace("-f docker/compose.yaml", f"-f docker/compose.yaml {extra}")
        elif command.startswith("docker compose"):
            folder = self.checkout / "docker"
        elif command.startswith("docker build "):
            options = _variable("PEGBOARD_TEST_BUILD_OPTIONS")
            command = command.replace("docker build", f"docker build {options}")
        answer = subprocess.run(  # noqa: S602 - the docs' commands, in their words
            command,
            shell=True,
            cwd=folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_COMMAND_SECONDS,
        )
        output = f"{command}\n{answer.stdout[-2000:]}\n{answer.stderr[-4000:]}"
        assert answer.returncode in allowed, output
        return answer.stdout

    def manage(self, command: str) -> str:
        """Run a command of Pegboard's in the web's container."""
        return self.run(f"docker compose exec -T web pegboard {command}")

    def make_key(self) -> None:
        """Make the key that `ask` and `load` use."""
        scopes = "--scope select --scope execute --scope admin"
        options = f"--all-groups {scopes} --owner admin --acts-for-users"
        self.key = self.manage(f"create_api_key {options}").strip()

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> httpx.Response:
        """Send a request to the API, through the proxy."""
        headers = {"Authorization": f"Bearer {self.key}"}
        with httpx.Client(base_url=self.address, verify=False, timeout=120) as client:  # noqa: S501
            return client.request(method, f"/api/v1{path}", json=body, headers=headers)

    @contextmanager
    def load(self) -> Iterator[Load]:
        """Select at a steady rate through the proxy while the block runs."""
        tls = ssl._create_unverified_context()  # noqa: S323 - the proxy signs for itself
        with steady_load(self.port, self.key, rate=RATE, user="admin", tls=tls) as load:
            yield load

    def containers(self) -> dict[str, list[dict[str, Any]]]:
        """Return what the engine says of each service's containers."""
        ids = self.run("docker compose ps --all --quiet").split()
        described = json.loads(self.run(f"docker inspect {' '.join(ids)}")) if ids else []
        services: dict[str, list[dict[str, Any]]] = {}
        for container in described:
            labels = container["Config"]["Labels"]
            if labels.get("com.docker.compose.oneoff") != "True":
                services.setdefault(labels["com.docker.compose.service"], []).append(container)
        return services

    def wait_until_healthy(self, *, after: dict[str, str] | None = None) -> float:
        """Return the seconds until all services are healthy, and those in `after` started anew."""
        began = time.monotonic()
        while troubles := list(self._troubles(after or {})):
            assert time.monotonic() < began + PATIENCE, troubles
            time.sleep(0.5)
        return time.monotonic() - began

    def kill(self, service: str) -> float:
        """Kill a service's container from outside; return the seconds until it is healthy again."""
        (container,) = self.containers()[service]
        # `docker kill` would count as a wish to stop it.
        pid = container["State"]["Pid"]
        options = f"--rm --pid=host --user=0 --entrypoint=sh pegboard:{self.tag}"
        self.run(f"docker run {options} -c 'kill -9 {pid}'")
        return self.wait_until_healthy(after={service: container["State"]["StartedAt"]})

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until a condition holds."""
        until = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < until, f"{what} did not happen in {PATIENCE} seconds"
            time.sleep(1)

    def take_over(self, other: "Layout") -> None:
        """Stand in for another layout: its address, key and ports."""
        self.port, self.key = other.port, other.key
        self._environment = other._environment | {
            name: self._environment[name] for name in ("COMPOSE_FILE", "IMAGE_TAG")
        }

    def remove(self) -> None:
        """Remove the containers, networks and volumes."""
        self.run("docker compose --profile by-hand down --volumes --remove-orphans --timeout 1")

    def _troubles(self, after: dict[str, str]) -> Iterator[str]:
        for service, containers in self.containers().items():
            for state in (container["State"] for container in containers):
                health = state.get("Health", {}).get("Status", "healthy")
                if service in ONCE:
                    if state["Running"] or state["ExitCode"]:
                        yield f"{service} ended with {state['ExitCode']}"
                elif not state["Running"] or health != "healthy":
                    yield f"{service} is {health}"
                elif state["StartedAt"] == after.get(service):
                    yield f"{service} was not started again"


def _variable(name: str) -> str:
    return os.environ.get(name, "")
