"""Bounds by date: the libraries as they were when a package was released.

The index is a server on the loopback that tells when its files were uploaded (PEP 700).
"""

import hashlib
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from pytest_django.fixtures import Settings

from catalog.formats.package_names import Package, check_constraint
from marketplace.installs.packages.client import Watch
from marketplace.installs.packages.folders import Place
from marketplace.installs.packages.pypi import find_dated_bounds, install
from tests.installs.wheels import add_wheel

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
