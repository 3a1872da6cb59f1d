"""Packages that an index offers as source only: built in a cell; and what hostile builds get."""

import hashlib
import importlib.metadata
import io
import json
import os
import socket
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings

from catalog.embedding.jobs import embed_pending
from catalog.formats.descriptors import IntegrationDescriptor
from catalog.formats.package_names import Package
from catalog.models import Capability
from catalog.servers.cell.support import cell_problem
from marketplace.installs.packages import _source_wheels, pypi
from marketplace.installs.packages._source_wheels import SourceArchive, take_wheel
from marketplace.installs.packages._stores import store_folder
from marketplace.installs.packages.client import Watch
from marketplace.installs.packages.folders import Installed, PackageProblemError, Place, new_name
from marketplace.installs.requests import start_install, to_confirm
from marketplace.installs.worker import install as install_integration
from tests.installs.wheels import add_server, add_wheel, tool, use_folder_as_index

pytestmark = pytest.mark.processes

PLAIN = """
from setuptools import setup
setup(name={name!r}, version={version!r}, py_modules=[{module!r}])
"""


def add_sdist(
    folder: Path, name: str, version: str, files: Mapping[str, str], *, setup: str = PLAIN
) -> str:
    """Add a source archive of these files; return its digest."""
    stem, module = f"{name.replace('-', '_')}-{version}", name.replace("-", "_")
    program = setup.format(name=name, version=version, module=module) if setup == PLAIN else setup
    about = f"Metadata-Version: 1.0\nName: {name}\nVersion: {version}\n"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path, text in {"setup.py": program, "PKG-INFO": about, **files}.items():
            member = tarfile.TarInfo(f"{stem}/{path}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    folder.mkdir(exist_ok=True)
    (folder / f"{stem}.tar.gz").write_bytes(packed.getvalue())
    return f"sha256:{hashlib.sha256(packed.getvalue()).hexdigest()}"


def add_backend(folder: Path) -> str:
    """Add the installed setuptools as a wheel; return the line that pins it."""
    found = importlib.metadata.distribution("setuptools")
    names = [one for one in found.files or () if "__pycache__" not in one.parts]
    texts = {str(one): Path(str(one.locate())).read_bytes() for one in names}
    record = next(name for name in texts if name.endswith("/RECORD"))
    lines = [line for line in texts[record].decode().splitlines() if "__pycache__" not in line]
    texts[record] = "\n".join(lines).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as wheel:
        for name, content in texts.items():
            wheel.writestr(name, content)
    folder.mkdir(exist_ok=True)
    (folder / f"setuptools-{found.version}-py3-none-any.whl").write_bytes(packed.getvalue())
    digest = hashlib.sha256(packed.getvalue()).hexdigest()
    return f"setuptools=={found.version} --hash=sha256:{digest}"


CANARY = "canary-of-the-index"
# A setup.py that does something first, and then builds like any other.
HOSTILE = """
import json, os, pathlib, socket, subprocess, sys, time
from setuptools import setup
{does}
setup(name="odd-lib", version="1.0", py_modules=["odd_lib"])
"""
LOOK = """
def tried(what):
    try:
        return what()
    except BaseException as problem:
        return f"refused: {{type(problem).__name__}}"
def connect(address):
    with socket.create_connection(address, timeout=3): return "connected"
def write(path):
    pathlib.Path(path).write_text("x"); return "written"
targets = json.loads({targets!r})
found = {{
    "variables": dict(os.environ),
    "user": os.getuid(),
    "seen": [path for path in targets["read"] if os.path.exists(path)],
    "written": [path for path in targets["write"] if tried(lambda: write(path)) == "written"],
    "network": [tried(lambda: connect(tuple(one))) for one in targets["connect"]],
}}
pathlib.Path("odd_lib.py").write_text(f"FOUND = {{json.dumps(found)!r}}")
"""


@pytest.fixture(autouse=True)
def index(settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder as pip's only index, with this environment's build backend."""
    settings.PEGBOARD_DATA_DIR, settings.PEGBOARD_CELL = tmp_path / "data", "required"
    if problem := cell_problem():
        pytest.skip(f"No cell can be made here: {problem}")
    folder = tmp_path / "index"
    use_folder_as_index(monkeypatch, folder)
    pins = tmp_path / "backends.lock"
    pins.write_text(add_backend(folder))
    monkeypatch.setattr(_source_wheels, "BACKENDS", pins)
    add_wheel(
        folder, "odd-server", "1.0", {"odd_server.py": "def main(): pass\n"},
        needs="odd-lib>=1.0", program="odd-server = odd_server:main",
    )  # fmt: skip
    return folder


def fetch(before: Installed | None = None) -> tuple[Place, Installed]:
    place = Place(new_name())
    place.make()
    held = before.artefacts if before else ()
    built = before.built if before else {}
    return place, pypi.install(
        Package("pypi", "odd-server", "1.0"), place, Watch(), held=held, built=built
    )


def refusal(code: str = "package_not_built") -> str:
    with pytest.raises(PackageProblemError) as caught:
        fetch()
    assert caught.value.code == code, str(caught.value)
    return str(caught.value)


def module(place: Place) -> str:
    return next(place.folder.glob("lib/*/site-packages/odd_lib.py")).read_text()


def test_source_is_built_recorded_and_restored(index: Path, settings: Settings) -> None:
    source = add_sdist(index, "odd-lib", "1.0", {"odd_lib.py": "HERE = 1\n"})
    place, first = fetch()
    whole = module(place)
    [kept] = store_folder().rglob("odd_lib-*.whl")
    os.utime(kept, (0, 0))
    _, from_store = fetch(first)
    used = kept.stat().st_mtime
    settings.PEGBOARD_DATA_DIR = index.parent / "other"  # an empty store: it is built once more

    rebuilt, again = fetch(first)

    recorded = {one.name: one.digest for one in first.artefacts}
    assert recorded["odd-lib"] == source  # what can be fetched and compared again
    assert first.built["odd-lib"] != source
    assert (from_store.built, again.built) == (first.built, first.built)
    assert used > 0  # what was used lately stays the longest
    assert whole == module(rebuilt) == "HERE = 1\n"
    add_sdist(index, "odd-lib", "1.0", {"odd_lib.py": "HERE = 2\n"})
    with pytest.raises(PackageProblemError, match="differs from before"):
        fetch(first)


def test_build_sees_reaches_and_changes_nothing(
    index: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", f"https://{CANARY}@index.example/simple")
    data = settings.PEGBOARD_DATA_DIR
    data.mkdir()
    (data / "secret_key").write_text(CANARY)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        targets = {
            "read": [str(data / "secret_key"), str(index), str(settings.BASE_DIR / "manage.py")],
            "write": ["/usr/x", "/etc/x", str(data / "x"), str(data / "servers" / "x"),
                      str(tmp_path / "x")],
            "connect": [listener.getsockname(), ("pypi.org", 443), ("169.254.169.254", 80)],
        }  # fmt: skip
        # The cell's own proxy variables must not be there either: the build has no proxy.
        look = LOOK.format(targets=json.dumps(targets))
        add_sdist(index, "odd-lib", "1.0", {}, setup=HOSTILE.format(does=look))
        place, _ = fetch()

    names: dict[str, str] = {}
    exec(module(place), names)  # noqa: S102 - a text that this test's own setup.py wrote
    found = json.loads(names["FOUND"])
    assert (found["seen"], found["written"]) == ([], [])
    assert all(one.startswith("refused") for one in found["network"])
    assert CANARY not in json.dumps(found)
    assert not {name for name in found["variables"] if name.startswith(("PIP_", "PEGBOARD_"))}
    assert os.getuid() or found["user"] != 0
    assert not list((data / "servers").glob("*/.fetching/work"))


@pytest.mark.parametrize(
    "does",
    [
        "while True: os.fork()",
        "[open(str(n), 'wb').write(bytes(90 * 1024**2)) for n in range(9)]; time.sleep(60)",
        "setup(name='other', version='1.0', py_modules=[]); os._exit(0)",
        "from setuptools import Extension; setup(name='odd-lib', version='1.0',"
        " ext_modules=[Extension('odd', ['odd_lib.c'])]); os._exit(0)",
    ],
    ids=["forks", "full", "other name", "compiles"],
)
def test_build_that_does_not_end_well_is_told(index: Path, does: str) -> None:
    files = {"odd_lib.py": "", "odd_lib.c": ""}
    add_sdist(index, "odd-lib", "1.0", files, setup=HOSTILE.format(does=does))

    told = refusal()

    assert "odd-lib 1.0 is offered as source only, and building it failed" in told
    assert not any((index.parent / "data" / "servers" / "tarballs").rglob("*.whl"))


def test_build_that_sleeps_is_ended(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_source_wheels, "SECONDS", 2)
    add_sdist(index, "odd-lib", "1.0", {}, setup=HOSTILE.format(does="time.sleep(600)"))

    assert "It took too long" in refusal()


def test_builds_can_be_turned_off_and_need_a_cell(index: Path, settings: Settings) -> None:
    add_sdist(index, "odd-lib", "1.0", {"odd_lib.py": ""})
    settings.PEGBOARD_SOURCE_BUILDS = False
    off = refusal("package_not_found")
    settings.PEGBOARD_SOURCE_BUILDS, settings.PEGBOARD_CELL = True, "off"

    assert "building is turned off here" in off
    assert "built only in a sandbox. Sandboxes are switched off" in refusal("package_not_found")


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], "no wheel, or several"),
        (["odd_lib-1.0-py3-none-any.whl", "b-1.0-py3-none-any.whl"], "no wheel, or several"),
        (["evil.whl"], "no valid name"),
        (["other-1.0-py3-none-any.whl"], "built other 1.0 instead"),
        (["odd_lib-2.0-py3-none-any.whl"], "built odd-lib 2.0 instead"),
        (["odd_lib-1.0-cp311-cp311-linux_x86_64.whl"], "Only pure Python"),
        (["odd_lib-1.0-py3-none-any.whl"], "no file of at most"),  # a link to somewhere else
    ],
)
def test_only_one_plain_wheel_of_that_package_is_taken(
    settings: Settings, names: list[str], words: str
) -> None:
    work = Place("work")
    work.make()
    (work.folder / "out").mkdir()
    (work.folder / "elsewhere").write_text("x")
    for name in names:
        (work.folder / "out" / name).symlink_to(work.folder / "elsewhere")

    with pytest.raises(PackageProblemError, match=words):
        take_wheel(SourceArchive("odd-lib", "1.0", "", ""), work)


@pytest.mark.django_db
@pytest.mark.usefixtures("embedder", "quick_connections")
def test_server_with_a_source_only_library_is_installed(
    alice: User, index: Path, settings: Settings
) -> None:
    settings.PEGBOARD_LAUNCHERS = ("uvx",)
    add_sdist(index, "tiny-sdk", "1.0", {"tiny_sdk.py": "VERSION = 1\n"})
    add_server(index, "1.0.0", tool("hello", "Says hello."))
    wanted = IntegrationDescriptor(
        "tiny", "mcp", "Tiny", transport="stdio", command=("uvx", "tiny-server==1.0.0")
    )

    row = start_install(by=alice, descriptor=wanted, confirmed=to_confirm(wanted).digest)
    for _ in range(2):
        install_integration(row.pk)
        embed_pending()
    row.refresh_from_db()

    assert (row.state, row.message) == ("ready", row.message)
    assert list(row.package["built"]) == ["tiny-sdk"]
    assert row.events.filter(message__startswith="Building tiny-sdk 1.0").exists()
    assert Capability.objects.filter(full_name="tiny__hello").exists()
