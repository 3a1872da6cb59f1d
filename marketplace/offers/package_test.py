"""Tests of packages: findings of `make atlas` about a listing's version, as the listing has them.

Findings come with Pegboard, in the starter collection; what an admin adds by hand gets those of the
same package. They are no claims of a source.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any

from acl.platform.answer_model import Answer, Shown
from catalog.formats.package_names import check_constraint

__all__ = [
    "ADDED",
    "FINDINGS",
    "WORKING",
    "PackageTest",
    "known_bounds",
    "parse_findings",
    "read_package_test",
]
WORKING = ("ready", "needs_secret")
ADDED = "added"  # the type of a reference to what was added by hand
_TRUSTED = ("starter", ADDED)
FINDINGS = "tested"  # their name in a listing's details, and in the reference of its descriptor


@dataclass(frozen=True, slots=True)
class PackageTest(Answer):
    """A test of a listing's package: in its cell, without network, with made-up secrets."""

    version: Annotated[str, Shown("The version that was tested.")]
    tested_on: date
    state: Annotated[
        str, Shown("`needs_secret`: it was started with made-up ones.", choices=WORKING)
    ]
    bounds: Annotated[tuple[str, ...], Shown("Bounds on what it requires, such as `name<2`.")] = ()
    called: Annotated[str, Shown("A tool whose call succeeded, or empty.")] = ""
    hosts: Annotated[tuple[str, ...], Shown("Hosts that it tried to reach.")] = ()
    packages: Annotated[int, Shown("Number of packages, with what it requires.")] = 0
    megabytes: Annotated[float, Shown("Size on disk.")] = 0.0
    seconds: Annotated[float, Shown("Duration of the installation.")] = 0.0


def read_package_test(reference: Mapping[str, Any]) -> PackageTest | None:
    """Return the findings in a listing's details or a descriptor's reference; None without any."""
    findings = reference.get(FINDINGS) if reference.get("type") in _TRUSTED else None
    return _package_test(findings) if isinstance(findings, dict) else None


def parse_findings(text: str | None) -> PackageTest | None:
    """Return the findings in the JSON of a card's row."""
    return _package_test(json.loads(text)) if text else None


def _package_test(findings: Mapping[str, Any]) -> PackageTest:
    return PackageTest(
        version=findings["version"],
        tested_on=date.fromisoformat(findings["tested_on"]),
        state=findings["state"],
        bounds=tuple(findings.get("bounds", ())),
        called=findings.get("called", ""),
        hosts=tuple(findings.get("hosts", ())),
        packages=findings["packages"],
        megabytes=findings["megabytes"],
        seconds=findings["seconds"],
    )


def known_bounds(reference: Mapping[str, Any], version: str) -> list[str]:
    """Return the bounds with which exactly this version is known to work."""
    test = read_package_test(reference)
    if test is None or test.version != version:
        return []
    return sorted({check_constraint(bound) for bound in test.bounds})
