"""Findings of the atlas as the starter collection has them: an entry for each listing."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lab.atlas.packages import STARTER, AtlasPackage
from lab.atlas.survey import Finding

KEPT = STARTER / "atlas.json"


def read_results(file: Path = KEPT) -> dict[str, dict[str, Any]]:
    """Return the stored findings by slug."""
    if not file.exists():
        return {}
    found: dict[str, dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return found


def entry_of(package: AtlasPackage, finding: Finding, *, tested_on: str) -> dict[str, Any]:
    """Return a finding as it is stored: without any text of the package's makers."""
    values = asdict(finding)
    del values["told"]
    about = {"package": f"{package.index}:{package.name}", "version": package.version}
    return {**about, "tested_on": tested_on, **values}


def write_results(results: Mapping[str, Mapping[str, Any]], file: Path = KEPT) -> None:
    """Write the findings in a fixed order, so that differences can be read."""
    text = json.dumps(dict(sorted(results.items())), indent=1, ensure_ascii=False)
    file.write_text(f"{text}\n", encoding="utf-8")
