"""Survey of one package: add, confirm, install, list, call, uninstall, all by Pegboard's API."""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from lab.atlas.harmless_calls import choose_calls
from lab.atlas.packages import AtlasPackage
from lab.atlas.product import Product, Refused
from marketplace.installs.packages.folders import TARBALLS

GROUP = "everyone"
COUNTED_WITHIN = 1.5  # seconds until attempts to reach a host are counted
_LONGEST = 900  # seconds for an installation
_LONGEST_CALL = 30
_MOST_RETRIES = 4  # with bounds by tracebacks, then by the date
_ENDED = {"ready", "failed", "cancelled", "needs_secret", "needs_approval"}


@dataclass(slots=True)
class Finding:
    """Findings about a package. `told` is for whoever runs the atlas, and is not stored."""

    state: str = "fails"
    reason: str = ""
    digest: str = ""
    bounds: list[str] = field(default_factory=list)
    tools: dict[str, str] = field(default_factory=dict)  # effects by name
    called: str = ""
    hosts: list[str] = field(default_factory=list)
    packages: int = 0
    megabytes: float = 0.0
    seconds: float = 0.0
    seconds_again: float = 0.0  # of a second installation, when everything was fetched before
    told: str = ""


def survey(product: Product, package: AtlasPackage) -> Finding:
    """Install a package as an admin does, look at it, remove it, and install it once more."""
    finding = survey_once(product, package)
    if finding.state != "fails":
        finding.seconds_again = survey_once(product, package, calls=False).seconds
    return finding


def survey_once(product: Product, package: AtlasPackage, *, calls: bool = True) -> Finding:
    """Install a package, look at it, and remove it."""
    [addition] = product.post("/additions", {"what": package.configuration})
    if addition["state"] != "ready":
        return Finding(reason=addition["reason"] or "not_added", told=addition["message"])
    try:
        installation = _start(product, addition["listing"], package)
    except Refused as refused:
        return Finding(reason="refused", told=str(refused))
    try:
        installation = wait_for_installation(product, installation)
        for _ in range(_MOST_RETRIES):
            if not installation["offered"]:
                break
            bounds = {"constraints": installation["offered"]}
            product.post(f"/installations/{installation['id']}/retry", bounds)
            installation = wait_for_installation(product, installation)
        if installation["state"] == "needs_approval":
            seen = {"seen": installation["tools_digest"]}
            product.post(f"/installations/{installation['id']}/approve", seen)
            installation = wait_for_installation(product, installation)
        return _describe(product, package, installation, calls=calls)
    finally:
        product.delete(f"/installations/{installation['id']}")


def _start(product: Product, listing: str, package: AtlasPackage) -> Any:
    preview = product.get("/installations/preview", listing=listing)
    # No host is named: what was installed reaches nothing.
    wanted = {
        "listing": listing,
        "groups": [GROUP],
        "secrets": package.made_up(),
        "hosts": [],
    }
    if preview["digest"]:  # else the version is looked up, and confirmed then
        wanted["confirmed"] = preview["digest"]
    return product.post("/installations", wanted)


def wait_for_installation(product: Product, installation: Mapping[str, Any]) -> Any:
    """Return the installation at its end; confirm what is looked up meanwhile."""
    deadline = time.monotonic() + _LONGEST
    while time.monotonic() < deadline:
        now = product.get(f"/installations/{installation['id']}")
        if now["state"] == "configure" and now["command_digest"]:  # its version was looked up
            seen = {"confirmed": now["command_digest"]}
            product.post(f"/installations/{now['id']}/confirm", seen)
        if now["state"] in _ENDED:
            return now
        time.sleep(0.25)
    raise RuntimeError(f"{installation['integration']} takes longer than {_LONGEST} s.")


def _describe(
    product: Product, package: AtlasPackage, installation: Mapping[str, Any], *, calls: bool
) -> Finding:
    slug = installation["integration"]
    finding = Finding(
        digest=_own_digest(package, installation["packages"]),
        bounds=installation["constraints"],
        packages=len(installation["packages"]),
        megabytes=round(_bytes_of_packages(product.data / "servers") / 1024**2, 1),
        seconds=round(_seconds(product, installation["id"]), 1),
    )
    if installation["state"] == "ready":
        tools = _read_tools(product, slug)
        finding.state = "needs_secret" if package.variables and package.needs else "ready"
        finding.tools = {_name(one): str(one["side_effect"]) for one in tools}
        if calls and not package.needs:
            finding.called = _call_one(product, tools)
    else:
        finding.reason, finding.told = installation["reason"], installation["message"]
    time.sleep(COUNTED_WITHIN)
    finding.hosts = _read_refused(product, slug)
    return finding


def _own_digest(package: AtlasPackage, artefacts: list[list[str]]) -> str:
    wanted = _normal(package.name)
    return next((digest for name, _, digest in artefacts if _normal(name) == wanted), "")


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def _seconds(product: Product, installation: str) -> float:
    """Return the seconds of the last attempt, from its first step to its end."""
    events = product.get(f"/installations/{installation}/events")["events"]
    begun = max((at for at, one in enumerate(events) if one["state"] == "fetching"), default=0)
    while begun and events[begun - 1]["state"] == "fetching":
        begun -= 1
    times = [datetime.fromisoformat(one["created_at"]) for one in events[begun:]]
    return (times[-1] - times[0]).total_seconds() if times else 0.0


def _read_tools(product: Product, slug: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while True:
        page = product.get(
            "/capabilities", integration=slug, detail="full_schema", limit=200, offset=len(found)
        )
        found += page["items"]
        if not page["has_more"]:
            return found


def _name(capability: Mapping[str, Any]) -> str:
    return str(capability["full_name"]).partition("__")[2]


def _call_one(product: Product, tools: list[dict[str, Any]]) -> str:
    """Return the name of the first tool whose call succeeded, or ""."""
    for full_name, arguments in choose_calls(tools):
        answer = product.post("/execute", {"name": full_name, "arguments": arguments})
        if answer["status"] == "running":
            answer = product.get(f"/calls/{answer['call_id']}", wait=_LONGEST_CALL)
        # Only the outcome counts: nobody keeps or reads the answer.
        if answer["status"] == "completed" and not (answer.get("result") or {}).get("is_error"):
            return full_name.partition("__")[2]
    return ""


def _read_refused(product: Product, slug: str) -> list[str]:
    try:
        network = product.get(f"/integrations/{slug}/network")
    except Refused:  # nothing was installed
        return []
    return sorted(one["host"] for one in network["refused"])


def _bytes_of_packages(folder: Path) -> int:
    kept, size = folder / TARBALLS, 0  # of all packages
    for root, _, names in os.walk(folder):
        for path in (Path(root, name) for name in names if not Path(root).is_relative_to(kept)):
            with suppress(FileNotFoundError):  # another package is being installed or removed
                size += 0 if path.is_symlink() else path.stat().st_size
    return size
