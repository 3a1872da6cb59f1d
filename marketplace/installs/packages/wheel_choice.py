"""Wheels of a resolution: which file of each version fits the Python that runs it. Pure."""

import tomllib
from collections.abc import Mapping
from datetime import datetime
from itertools import chain
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.tags import compatible_tags, cpython_tags, platform_tags
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from marketplace.installs.packages.package_result import Artefact, PackageProblemError


def choose_wheels(resolution: str, python: tuple[int, int]) -> list[Artefact]:
    """Return the best wheel of each version that a resolution (pylock.toml) names."""
    try:
        packages = tomllib.loads(resolution).get("packages", [])
        ranks = _ranks(python)
        return sorted(_choose(one, ranks) for one in packages)
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError):
        words = "The resolution of its dependencies cannot be read."
        raise PackageProblemError("package_failed", words) from None


def find_release(resolution: str, name: str) -> datetime | None:
    """Return when a package's first file was uploaded, if the index says so."""
    try:
        packages = tomllib.loads(resolution).get("packages", [])
        own = next(
            one for one in packages if canonicalize_name(one["name"]) == canonicalize_name(name)
        )
        times = [one["upload-time"] for one in own["wheels"] if "upload-time" in one]
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError, StopIteration):
        return None
    return min((one for one in times if isinstance(one, datetime)), default=None)


def _ranks(python: tuple[int, int]) -> dict[Any, int]:
    platforms = list(platform_tags())
    tags = chain(
        cpython_tags(python, platforms=platforms),
        compatible_tags(python, f"cp{python[0]}{python[1]}", platforms),
    )
    return {tag: rank for rank, tag in enumerate(tags)}


def _choose(package: Mapping[str, Any], ranks: Mapping[Any, int]) -> Artefact:
    name, version = package["name"], package.get("version", "")
    if package.get("vcs") or package.get("directory") or package.get("archive") or not version:
        words = f"{name} comes from no index, so its origin could not be verified later."
        raise PackageProblemError("package_not_held", words)
    ranked = [
        (rank, wheel)
        for wheel in package.get("wheels", ())
        if (rank := _rank(wheel, ranks)) is not None
    ]
    if not ranked:
        words = f"{name} {version} has no ready-made file (wheel) for this machine."
        raise PackageProblemError("package_not_found", words)
    _, best = min(ranked, key=lambda one: one[0])
    return Artefact(name, version, f"sha256:{best['hashes']['sha256']}")


def _rank(wheel: Mapping[str, Any], ranks: Mapping[Any, int]) -> int | None:
    where = wheel.get("name") or wheel.get("path") or urlsplit(wheel["url"]).path
    try:
        _, _, _, tags = parse_wheel_filename(unquote(str(where).rpartition("/")[2]))
    except InvalidWheelFilename:
        return None
    return min((ranks[tag] for tag in tags if tag in ranks), default=None)
