"""Package clients in their cells: their own folder, and nothing of Pegboard's."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from catalog.servers.cell.support import cell_problem
from marketplace.installs.packages import _client_cell
from marketplace.installs.packages._client_cell import find_index_hosts, rules_of
from marketplace.installs.packages.client import Watch, run_client
from marketplace.installs.packages.folders import PackageProblemError, Place
from tests.local_servers import Handler, serve

pytestmark = pytest.mark.processes
LOOK = """
import os, sys
for path in sys.argv[1:]:
    print(os.path.exists(path), end=" ")
open("mine", "w").write("x")
print(len(os.environ.get("PEGBOARD_TEST_CANARY", "")), os.getuid() != 0)
"""


def test_client_sees_its_own_folder_only(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PEGBOARD_CELL = "required"
    if problem := cell_problem():
        pytest.skip(f"No cell can be made here: {problem}")
    settings.PEGBOARD_DATA_DIR = tmp_path
    monkeypatch.setenv("PEGBOARD_TEST_CANARY", "canary")
    (tmp_path / "secret_key").write_text("canary")
    place = Place("a-package")
    place.make()
    hidden = [tmp_path / "secret_key", settings.BASE_DIR / "manage.py", Path("/etc/shadow")]

    command = [sys.executable, "-I", "-c", LOOK, *map(str, hidden), str(place.folder)]
    code, output = run_client(command, place, Watch())

    assert (code, output) == (0, "False False False True 0 True")
    assert (place.scratch / "mine").read_text() == "x"


FETCH = """
import sys, urllib.request
for address in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(address, timeout=20).status)
    except OSError as problem:
        print(str(problem)[:60])
"""


def test_client_reaches_the_indexes_only(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index_port: int
) -> None:
    settings.PEGBOARD_CELL = "required"
    if problem := cell_problem():
        pytest.skip(f"No cell can be made here: {problem}")
    settings.PEGBOARD_DATA_DIR, settings.PEGBOARD_PACKAGE_HOSTS = tmp_path, ()
    monkeypatch.setattr(_client_cell, "_CONFIGURATIONS", ())
    for name in ("PIP_FIND_LINKS", "HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    index, here = f"http://index.example:{index_port}/", f"http://127.0.0.1:{index_port}/"
    monkeypatch.setenv("PIP_INDEX_URL", index)
    monkeypatch.setattr("socket.getaddrinfo", _here)
    place = Place("a-package")
    place.make()

    command = [sys.executable, "-I", "-c", FETCH, index, "http://other.example/", here]
    code, output = run_client(command, place, Watch())

    assert code == 0
    allowed, refused, local = output.splitlines()
    assert allowed == "200"
    assert "403" in refused
    assert "refused" in local  # the cell's own loopback, where nothing listens


def _here(host: str, port: int, *_: object, **__: object) -> list[tuple[object, ...]]:
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]


@pytest.fixture
def index_port() -> Iterator[int]:
    with serve(Index) as server:
        yield server.server_port


class Index(Handler):
    """A package index, as far as this test goes."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()


@pytest.mark.parametrize(
    ("configuration", "added"),
    [
        ([], []),
        (["PIP_INDEX_URL=https://user:x@pip.example/simple"], ["pip.example"]),
        (["[global]\nextra-index-url = http://a.example:81/ https://b.example"],
         ["a.example:81", "b.example"]),
        (["NPM_CONFIG_REGISTRY=https://npm.example/", "NO_PROXY=localhost"], ["npm.example"]),
        (["PIP_FIND_LINKS=/opt/wheels"], []),
        (["HTTPS_PROXY=http://proxy.example:3128"], None),
        (["[global]\nproxy = http://proxy.example:3128"], None),
        (["https-proxy=http://proxy.example"], None),
        (["PIP_INDEX_URL=http://127.0.0.1:3141/simple"], None),
        (["PIP_INDEX_URL=http://[::1]/simple"], None),
        (["PIP_INDEX_URL=http://localhost/simple"], None),
    ],
)  # fmt: skip
def test_hosts_of_indexes_are_read_from_the_configuration(
    settings: Settings, configuration: list[str], added: list[str] | None
) -> None:
    settings.PEGBOARD_PACKAGE_HOSTS = ("store.example:8443",)
    public = {"pypi.org", "files.pythonhosted.org", "registry.npmjs.org", "store.example:8443"}

    found = find_index_hosts(configuration)

    assert (None if found is None else set(rules_of(found))) == (
        None if added is None else public | set(added)
    )


def test_client_does_not_run_where_required_cells_cannot_be_made(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PEGBOARD_CELL, settings.PEGBOARD_DATA_DIR = "required", tmp_path
    monkeypatch.setattr(_client_cell, "cell_problem", lambda: "No namespaces.")
    place = Place("a-package")
    place.make()

    with pytest.raises(PackageProblemError) as problem:
        run_client([sys.executable, "-V"], place, Watch())

    assert problem.value.code == "no_cell"
