"""Packages of npm's lock file: which of them belong on this machine, and where. Pure."""

import platform
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from marketplace.installs.packages._tarball_store import Digest, parse_integrity
from marketplace.installs.packages.result import PackageProblemError

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
        if _fits(entry, machine):
            name = str(entry.get("name") or match["name"])
            yield Tarball(where, digest, _spec(name, version, entry), _programs(entry))
        elif not entry.get("optional"):
            words = f"{match['name']} does not support this machine."
            raise PackageProblemError("package_not_found", words)


def _spec(name: str, version: str, entry: Mapping[str, Any]) -> str:
    """Return how npm is asked for a tarball: by name and version, or by an address of its own."""
    address = str(entry.get("resolved", ""))
    if address.startswith("https://") and "/-/" not in address:
        return address
    if not _WHOLE_NAME.fullmatch(name):
        raise PackageProblemError("package_not_held", f"{name[:200]!r} is no package's name.")
    return f"{name}@{version}"


def _programs(entry: Mapping[str, Any]) -> dict[str, str]:
    entries = entry.get("bin") or {}
    programs = entries.items() if isinstance(entries, dict) else ()
    return {str(name): str(path) for name, path in programs if _PROGRAM.fullmatch(str(name))}


def _fits(entry: Mapping[str, Any], machine: Machine) -> bool:
    return (
        _names(entry.get("os"), machine.os)
        and _names(entry.get("cpu"), machine.cpu)
        and _names(entry.get("libc"), machine.libc)
    )


def _names(listed: Any, machine: str) -> bool:
    """Return True if a list names this machine, or only others that are excluded (`!win32`)."""
    names = [listed] if isinstance(listed, str) else [str(item) for item in listed or ()]
    if not names or names == ["any"]:
        return True
    refused = [name[1:] for name in names if name.startswith("!")]
    return machine not in refused and (machine in names or len(refused) == len(names))
