"""Packages from npm. npm runs no scripts of packages.

Of a package that was here before, npm resolves names to exact tarballs and fetches those that the
store lacks; Pegboard unpacks them itself, in a cell without a network. That takes a fifth of npm's
CPU time. A package that is new here is installed by npm as a whole, and its tarballs are kept.
"""

import platform
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings

from acl.platform.strict_json import write_json
from catalog.formats.package_names import Package
from catalog.servers.cell.command import interpreter
from marketplace.installs.packages import _tarball_unpacker
from marketplace.installs.packages._stores import (
    Digest,
    add_to_store,
    find_stored,
    is_known,
    note_known,
    parse_integrity,
    store_folder,
)
from marketplace.installs.packages.client import Watch, run_client
from marketplace.installs.packages.folders import (
    Artefact,
    Installed,
    PackageProblemError,
    Place,
    read_json,
)

# Packages of npm's lock file: which of them belong on this machine, and where. Pure.

_NAME = r"(?:@[\w.~-]{1,200}/)?[\w.~-]{1,200}"
_WHOLE_NAME = re.compile(_NAME)
_PLACE = re.compile(rf"(?:node_modules/{_NAME}/)*node_modules/(?P<name>{_NAME})")
_PROGRAM = re.compile(r"[\w.+-]{1,200}")
_VERSION = re.compile(r"[\w.+-]{1,200}")
# Node's names for what Python calls otherwise.
_CPUS = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class Machine:
    """This machine as npm names it."""

    os: str = sys.platform
    cpu: str = _CPUS.get(platform.machine().lower(), platform.machine().lower())
    libc: str = "glibc" if platform.libc_ver()[0] == "glibc" else "musl"


@dataclass(frozen=True, slots=True)
class Tarball:
    """A package to unpack: where, its content, how npm is asked for it, and its programs."""

    where: str
    digest: Digest
    spec: str
    programs: dict[str, str] = field(default_factory=dict)


def plan_tarballs(lock: Mapping[str, Any], machine: Machine | None = None) -> list[Tarball]:
    """Return what is to be unpacked, outer folders before inner ones."""
    tarballs = _plan(lock, machine or Machine())
    return sorted(tarballs, key=lambda tarball: tarball.where)


def _plan(lock: Mapping[str, Any], machine: Machine) -> Iterator[Tarball]:
    for where, entry in lock.get("packages", {}).items():
        # What is bundled comes with the package that bundles it.
        if not where or entry.get("inBundle") or entry.get("dev"):
            continue
        match = _PLACE.fullmatch(where)
        digest = parse_integrity(str(entry.get("integrity", "")))
        version = str(entry.get("version", ""))
        odd = match is None or any(part in (".", "..") for part in where.split("/"))
        if match is None or odd or digest is None or not _VERSION.fullmatch(version):
            words = (
                f"{where[:200]} comes from no registry, so its origin could not be verified later."
            )
            raise PackageProblemError("package_not_held", words)
        if (
            _names(entry.get("os"), machine.os)
            and _names(entry.get("cpu"), machine.cpu)
            and _names(entry.get("libc"), machine.libc)
        ):
            name = str(entry.get("name") or match["name"])
            entries = entry.get("bin") or {}
            programs = entries.items() if isinstance(entries, dict) else ()
            yield Tarball(
                where,
                digest,
                _spec_of_entry(name, version, entry),
                {str(name): str(path) for name, path in programs if _PROGRAM.fullmatch(str(name))},
            )
        elif not entry.get("optional"):
            words = f"{match['name']} does not support this machine."
            raise PackageProblemError("package_not_found", words)


def _spec_of_entry(name: str, version: str, entry: Mapping[str, Any]) -> str:
    """Return how npm is asked for a tarball: by name and version, or by an address of its own."""
    address = str(entry.get("resolved", ""))
    if address.startswith("https://") and "/-/" not in address:
        return address
    if not _WHOLE_NAME.fullmatch(name):
        raise PackageProblemError("package_not_held", f"{name[:200]!r} is no package's name.")
    return f"{name}@{version}"


def _names(listed: Any, machine: str) -> bool:
    """Return True if a list names this machine, or only others that are excluded (`!win32`)."""
    names = [listed] if isinstance(listed, str) else [str(item) for item in listed or ()]
    if not names or names == ["any"]:
        return True
    refused = [name[1:] for name in names if name.startswith("!")]
    return machine not in refused and (machine in names or len(refused) == len(names))


_LOCK = "package-lock.json"
_LONGEST_LOCK = 20_000_000
# npm's warning that a package declares another Node than this one. Many run all the same.
_OTHER_NODE = re.compile(
    r"EBADENGINE +package: '([^']{1,300})',\s+"
    r"npm warn EBADENGINE +required: \{ node: '([^']{1,100})'"
)
_CHANGED = "The registry returned a different file for the same version, so Pegboard refused it."
_MISSING = (
    "Node and npm are not installed here. Debian has them in the packages nodejs and npm; to "
    "use another installation, name the full path of its npx in PEGBOARD_LAUNCHERS."
)


def find_newest_version(package: Package, place: Place, watch: Watch) -> str:
    """Return the version that the registry offers now, or ""."""
    output = _npm(place, watch, ["view", package.name, "version", "--json"])
    match = re.search(r'"(\d[\w.+-]*)"', output)
    return match.group(1) if match else ""


def install(package: Package, place: Place, watch: Watch, *, lock: str = "") -> Installed:
    """Install the package with its dependencies. `lock` pins the exact files."""
    node, _ = _clients()
    # In one go where nothing is held: two processes of npm take longer than one.
    at_once = not lock and not is_known(_spec(package))
    if lock:
        _write(place, _LOCK, lock)
    else:
        lock = _resolve(package, place, watch, whole=at_once)
    locked = read_json(lock, _LOCK)
    artefacts = tuple(_artefacts(locked))
    tarballs = plan_tarballs(locked)
    if at_once:
        add_to_store((tarball.digest for tarball in tarballs), _fetched(place))
    else:
        _unpack(place, watch, _hold(place, watch, tarballs))
    note_known(_spec(package))
    node_link = place.folder / "bin" / "node"
    node_link.parent.mkdir(exist_ok=True)
    node_link.symlink_to(node)
    launch = (str(node_link), _program(package, place))
    return Installed((*launch, *package.arguments), artefacts, lock)


def _spec(package: Package) -> str:
    return f"{package.name}@{package.version}"


def _resolve(package: Package, place: Place, watch: Watch, *, whole: bool) -> str:
    """Return npm's lock file of the package; nothing is fetched unless it is installed whole."""
    manifest = {"private": True, "dependencies": {package.name: package.version}}
    _write(place, "package.json", write_json(manifest))
    folder = ["--prefix", str(place.folder), *([] if whole else ["--package-lock-only"])]
    quiet = ["--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund"]
    output = _npm(place, watch, ["install", *folder, *quiet])
    for spec, node in _OTHER_NODE.findall(output):
        if spec == _spec(package):
            watch.on_line(f"Wants Node {node}")
    # npm's note to itself: both ways give the same files.
    (place.folder / "node_modules" / ".package-lock.json").unlink(missing_ok=True)
    # A text that a client has written; it could be anything else.
    file = place.folder / _LOCK
    if file.is_symlink() or not file.is_file() or file.stat().st_size > _LONGEST_LOCK:
        raise PackageProblemError("package_failed", f"{file.name} cannot be read.")
    return file.read_text(encoding="utf-8")


def _hold(place: Place, watch: Watch, tarballs: Sequence[Tarball]) -> list[tuple[Tarball, Path]]:
    """Return each tarball's file, the store's or this client's; npm fetches what is missing."""
    fetched = _fetched(place)
    missing = [tarball for tarball in tarballs if find_stored(tarball.digest) is None]
    if missing:
        specs = sorted({tarball.spec for tarball in missing})
        _npm(place, watch, ["cache", "add", "--prefer-offline", "--", *specs])
        add_to_store((tarball.digest for tarball in missing), fetched)
    files = [
        (tarball, find_stored(tarball.digest) or tarball.digest.below(fetched))
        for tarball in tarballs
    ]
    if any(not file.is_file() for _, file in files):
        raise PackageProblemError("package_changed", _CHANGED)
    return files


def _fetched(place: Place) -> Path:
    """Return the contents of npm's cache for this installation."""
    return place.scratch / "npm" / "_cacache" / "content-v2"


def _unpack(place: Place, watch: Watch, files: Sequence[tuple[Tarball, Path]]) -> None:
    """Unpack the tarballs in a cell that has no network, and reads the store only."""
    watch.on_line(f"Resolved {len(files)} packages in ")
    steps = [
        [
            str(file),
            f"{tarball.digest.algorithm}:{tarball.digest.value}",
            tarball.where,
            tarball.programs,
        ]
        for tarball, file in files
    ]
    plan = place.scratch / "plan.json"
    plan.write_text(write_json(steps), encoding="utf-8")
    program = [str(interpreter()), "-I", "-S", "-c", _unpacker(), str(place.folder), str(plan)]
    code, output = run_client(program, place, watch, readable=[store_folder()])
    if code:
        raise _explain(output)


@cache
def _unpacker() -> str:
    return Path(_tarball_unpacker.__file__).read_text(encoding="utf-8")


def _npm(place: Place, watch: Watch, arguments: Sequence[str]) -> str:
    node, npm = _clients()
    code, output = run_client([node, npm, *arguments], place, watch)
    if code:
        raise _explain(output)
    return output


def find_node() -> str:
    """Return the path of Node. Raises PackageProblemError."""
    return _clients()[0]


def _clients() -> tuple[str, str]:
    """Return the paths of Node and npm's script, beside the npx that an operator has configured."""
    named = next(
        (launcher for launcher in settings.PEGBOARD_LAUNCHERS if Path(launcher).name == "npx"),
        "npx",
    )
    npx = named if "/" in named else shutil.which(named) or shutil.which("npm") or ""
    folder = Path(npx).parent
    beside = (
        (folder / "npm").resolve(),
        folder.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js",
    )
    npm = next((path for path in beside if path.name == "npm-cli.js" and path.is_file()), None)
    if not npx or npm is None or not (folder / "node").exists():
        raise PackageProblemError("client_missing", _MISSING)
    return str((folder / "node").resolve()), str(npm)


def _explain(output: str) -> PackageProblemError:
    errors = "\n".join(line for line in output.splitlines() if "error" in line.lower())
    for pattern, reason, words in _KNOWN_ERRORS:
        if pattern.search(output):
            return PackageProblemError(reason, words, errors)
    return PackageProblemError("package_failed", "npm could not install it.", errors)


def _artefacts(lock: Mapping[str, Any]) -> list[Artefact]:
    """Return the packages of a lock file. Bundled ones are part of another package's file."""
    artefacts = []
    for path, entry in lock.get("packages", {}).items():
        if not path or entry.get("inBundle"):
            continue
        name = path.rpartition("node_modules/")[2]
        if not entry.get("integrity"):
            words = f"{name} comes from no registry, so its origin could not be verified later."
            raise PackageProblemError("package_not_held", words)
        artefacts.append(Artefact(name, str(entry.get("version", "")), entry["integrity"]))
    return sorted(set(artefacts))


def _program(package: Package, place: Place) -> str:
    """Return the JavaScript file that Node runs."""
    folder = place.folder / "node_modules" / package.name
    about = read_json((folder / "package.json").read_text(encoding="utf-8"), "package.json")
    programs = about.get("bin") or {}
    plain = package.name.rpartition("/")[2]
    if isinstance(programs, str):
        programs = {plain: programs}
    program_name = package.program or (next(iter(programs)) if len(programs) == 1 else plain)
    path = (folder / str(programs.get(program_name, ""))).resolve()
    if (
        program_name not in programs
        or not path.is_file()
        or not path.is_relative_to(folder.resolve())
    ):
        has = f"It has {', '.join(sorted(programs)[:10])}." if programs else "It has no programs."
        raise PackageProblemError(
            "no_program", f"The package has no program {program_name!r}. {has}"
        )
    return str(path)


def _write(place: Place, name: str, text: str) -> None:
    (place.folder / name).write_text(text, encoding="utf-8")


_KNOWN_ERRORS = (
    (
        re.compile(r"EINTEGRITY"),
        "package_changed",
        _CHANGED,
    ),
    (
        re.compile(r"E404|ETARGET|ENOVERSIONS|No matching version"),
        "package_not_found",
        "The registry does not have this package or version, or one of its dependencies.",
    ),
    (re.compile(r"ERESOLVE"), "package_conflict", "Its dependencies conflict with each other."),
    (
        re.compile(r"ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|ERR_SOCKET|network"),
        "index_not_reachable",
        "The package registry could not be reached. Try again, or ask your operator.",
    ),
    (
        re.compile(r"EBADENGINE|EBADPLATFORM"),
        "package_not_found",
        "The package does not support this machine.",
    ),
)
