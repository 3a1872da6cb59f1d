"""Settings, dates and the process of a package client."""

import hashlib
import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from packaging.tags import platform_tags
from pytest_django.fixtures import Settings

from catalog.formats.package_names import Package, check_constraint
from marketplace.installs.packages import client
from marketplace.installs.packages._uv_client import choose_wheels, find_python, find_release
from marketplace.installs.packages.client import (
    NoLongerWantedError,
    Watch,
    has_index,
    run_client,
    uv_variables,
)
from marketplace.installs.packages.folders import PackageProblemError, Place, new_name
from marketplace.installs.packages.pypi import find_dated_bounds, install
from tests.connections.evil_server import our_children
from tests.installs.wheels import add_wheel

SYSTEM = """
[global]
index-url = https://system.example/simple
extra_index_url =
    https://a.example/simple
    https://b.example/simple
[install]
find-links = /opt/wheels /opt/more
[wheel]
index-url = https://canary.example
"""
OWN = "[global]\nindex-url = https://own.example/simple\ncert = /etc/own.pem\nno-index = true\n"


def test_uv_gets_the_index_that_pip_would_use(tmp_path: Path) -> None:
    system, own = tmp_path / "system.conf", tmp_path / "own.conf"
    system.write_text(SYSTEM)
    own.write_text(OWN)
    environment = {"PIP_CONFIG_FILE": str(own), "PIP_TRUSTED_HOST": "c.example  d.example"}

    found = uv_variables(environment, system_file=system)

    assert found == {
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_SYSTEM_CERTS": "true",
        "UV_DEFAULT_INDEX": "https://own.example/simple",
        "UV_INDEX": "https://a.example/simple https://b.example/simple",
        "UV_FIND_LINKS": "/opt/wheels,/opt/more",
        "UV_INSECURE_HOST": "c.example d.example",
        "SSL_CERT_FILE": "/etc/own.pem",
    }
    assert not has_index(environment, system_file=system)
    assert has_index({**environment, "PIP_NO_INDEX": "0"}, system_file=system)
    own.write_text("no section\n\0")
    variable = {**environment, "PIP_INDEX_URL": "https://v.example"}
    assert uv_variables(variable, system_file=system)["UV_DEFAULT_INDEX"] == "https://v.example"


NATIVE = next(platform_tags())


def lock(*files: str, more: str = "") -> str:
    wheels = ", ".join(
        f'{{ url = "https://x.example/{name}", hashes = {{ sha256 = "{at}" }} }}'
        for at, name in enumerate(files)
    )
    return f'[[packages]]\nname = "a"\nversion = "1"\nwheels = [{wheels}]\n{more}'


@pytest.mark.parametrize(
    ("files", "python", "chosen"),
    [
        (("a-1-py3-none-any.whl", f"a-1-cp311-cp311-{NATIVE}.whl"), (3, 11), "1"),
        (("a-1-py3-none-any.whl", f"a-1-cp311-cp311-{NATIVE}.whl"), (3, 13), "0"),
        ((f"a-1-cp38-abi3-{NATIVE}.whl", "a-1-py3-none-any.whl"), (3, 13), "0"),
        (("a-1-cp311-cp311-win_amd64.whl", "a-1-py2.py3-none-any.whl", "a-1.zip"), (3, 11), "1"),
    ],
)
def test_the_wheel_that_fits_best_is_chosen(
    files: tuple[str, ...], python: tuple[int, int], chosen: str
) -> None:
    [wheel] = choose_wheels(lock(*files), python)

    assert wheel.digest == f"sha256:{chosen}"


@pytest.mark.parametrize(
    ("resolution", "code"),
    [
        (lock("a-1-cp311-cp311-win_amd64.whl"), "package_not_found"),
        (lock("a-1-py3-none-any.whl", more='vcs = { type = "git" }'), "package_not_held"),
        (lock("a-1-py3-none-any.whl", more='archive = { url = "https://x" }'), "package_not_held"),
        ("[[packages]]\nname = 'a'\nversion = '1'\nwheels = [1]", "package_failed"),
        ("[[packages]]\nversion = '1'", "package_failed"),
        ("no toml", "package_failed"),
    ],
)
def test_what_cannot_be_held_or_read_is_refused(resolution: str, code: str) -> None:
    with pytest.raises(PackageProblemError) as problem:
        choose_wheels(resolution, (3, 11))

    assert problem.value.code == code


def test_release_of_a_package_is_when_its_first_file_was_uploaded() -> None:
    wheels = ", ".join(
        f'{{ name = "{name}", upload-time = {at}, hashes = {{ sha256 = "1" }} }}'
        for name, at in (("b.whl", "2025-04-02T10:00:00Z"), ("a.whl", "2025-04-01T10:00:00Z"))
    )
    told = f'[[packages]]\nname = "my-server"\nversion = "1"\nwheels = [{wheels}]'

    found = find_release(told, "My_Server")

    assert found is not None
    assert f"{found:%d %H}" == "01 10"
    assert find_release(told, "other") is None
    assert find_release(lock("a-1-py3-none-any.whl"), "a") is None
    assert find_release("no toml", "a") is None


def test_a_package_gets_the_oldest_python_here_that_it_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pass over a shim that leads nowhere, and show a cell the program itself."""
    for name, text in (
        ("python3.14", f"echo 3 14 2 {tmp_path}/python3.14"),
        ("python3.13", f"echo 3 13 1 {tmp_path}/real"),
        ("python3.12", "echo command not found >&2; exit 127"),
        ("real", ""),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    monkeypatch.setattr(sys, "version_info", (3, 11, 7, "final", 0))

    assert find_python("") == find_python(">=3.8") == sys.executable
    assert find_python(">=3.12") == f"{tmp_path}/real"
    assert find_python("==3.14.*") == f"{tmp_path}/python3.14"
    assert find_python(">=3.99") is None
    assert find_python("not a version") is None


UPLOADED = {
    "dated_server-1.0.0": "2025-05-01T10:00:00Z",
    "dated_sdk-1.0": "2025-01-01T10:00:00Z",
    "dated_sdk-1.4": "2025-05-01T10:20:00Z",
    "dated_sdk-2.0": "2026-01-01T10:00:00Z",
    "same_lib-1.0": "2024-01-01T10:00:00Z",
}


@pytest.fixture
def place(settings: Settings, tmp_path: Path) -> Place:
    settings.PEGBOARD_DATA_DIR = tmp_path / "data"
    wheels = tmp_path / "wheels"
    for version in ("1.0", "1.4", "2.0"):
        add_wheel(wheels, "dated-sdk", version, {"dated_sdk.py": ""}, needs="same-lib")
    add_wheel(wheels, "same-lib", "1.0", {"same_lib.py": ""})
    add_wheel(
        wheels, "dated-server", "1.0.0", {"dated_server.py": "def main(): pass\n"},
        needs="dated-sdk>=1.0", program="dated-server = dated_server:main",
    )  # fmt: skip
    place = Place("a-package")
    place.make()
    return place


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """Serve the wheels; of files in the set it does not say when they were uploaded."""
    silent: set[str] = set()

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            name = self.path.strip("/").rpartition("/")[2]
            file = tmp_path / "wheels" / name
            body = file.read_bytes() if file.is_file() else list_files(name)
            self.send_response(200)
            kind = "application/zip" if file.is_file() else "application/vnd.pypi.simple.v1+json"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    def list_files(name: str) -> bytes:
        files = []
        for wheel in sorted((tmp_path / "wheels").glob(f"{name.replace('-', '_')}-*.whl")):
            stem = "-".join(wheel.name.split("-")[:2])
            digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
            entry: dict[str, object] = {"filename": wheel.name, "url": f"/files/{wheel.name}"}
            entry["hashes"] = {"sha256": digest}
            files.append(entry | ({} if stem in silent else {"upload-time": UPLOADED[stem]}))
        told = {"meta": {"api-version": "1.1"}, "name": name, "versions": [], "files": files}
        return json.dumps(told).encode()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_CONFIG_FILE", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
    yield silent
    server.shutdown()
    thread.join()
    server.server_close()


def test_bounds_are_what_existed_when_the_package_was_released(
    index: set[str], place: Place
) -> None:
    package = Package("pypi", "dated-server", "1.0.0")

    newest = install(package, place, Watch())
    place.finish()
    bounds = find_dated_bounds(package, place, Watch())
    again = Place("another-package")
    again.make()
    dated = install(package, again, Watch(), constraints=bounds)
    index.update(UPLOADED)

    assert [one.version for one in newest.artefacts if one.name == "dated-sdk"] == ["2.0"]
    # An hour for companions of the release. What is the same today needs no bound.
    assert bounds == [check_constraint("dated-sdk<=1.4")]
    assert [one.version for one in dated.artefacts if one.name == "dated-sdk"] == ["1.4"]
    assert not place.scratch.exists()
    assert find_dated_bounds(package, place, Watch()) == []


# A client that starts a process which would outlive it.
LASTING = """
import subprocess, sys
helper = subprocess.Popen(["sleep", "600"])
print("fetching", flush=True)
helper.wait()
"""
GROWING = """
import time
with open("fetched", "wb") as file:
    file.write(bytes(3 * 1024 * 1024))
time.sleep(600)
"""


@pytest.fixture
def client_place(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Place]:
    settings.PEGBOARD_DATA_DIR = tmp_path
    monkeypatch.setattr(client, "_LOOK_EVERY", 0.05)
    monkeypatch.setattr(client, "_MEASURE_EVERY", 0.05)
    place = Place(new_name())
    place.make()
    yield place
    assert our_children() == []


def run(place: Place, program: str, watch: Watch | None = None) -> tuple[int, str]:
    return run_client([sys.executable, "-I", "-c", program], place, watch or Watch())


def test_its_words_are_heard_and_its_end_is_told(client_place: Place) -> None:
    heard: list[str] = []

    ended = run(
        client_place,
        "print('one'); print('two'); raise SystemExit(3)",
        Watch(heard.append),
    )

    assert ended == (3, "one\ntwo")
    assert set(heard) <= {"one", "two"}  # the last lines may arrive at its end


def test_who_takes_too_long_is_ended_with_all_that_it_started(
    client_place: Place, settings: Settings
) -> None:
    settings.PEGBOARD_PACKAGE_SECONDS = 1

    with pytest.raises(PackageProblemError, match="took too long") as problem:
        run(client_place, LASTING)

    assert problem.value.code == "package_too_slow"


def test_who_is_not_wanted_any_more_is_ended_with_all_that_it_started(
    client_place: Place,
) -> None:
    heard: list[str] = []

    with pytest.raises(NoLongerWantedError):
        run(client_place, LASTING, Watch(heard.append, lambda: not heard))

    assert heard == ["fetching"]


def test_who_fetches_too_much_is_ended(client_place: Place, settings: Settings) -> None:
    settings.PEGBOARD_PACKAGE_MEGABYTES = 2

    with pytest.raises(PackageProblemError, match="more than 2 MB") as problem:
        run(client_place, GROWING)

    assert problem.value.code == "package_too_large"
