"""The generated part of lab/atlas/README.md: every package that the atlas has installed."""

import re
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from lab.atlas.packages import AtlasPackage, read_packages
from lab.atlas.results import read_results

PAGE = Path(__file__).parents[2] / "lab" / "atlas" / "README.md"
_BLOCK = re.compile(r"(<!-- generated: atlas -->\n).*?(<!-- end -->)", re.DOTALL)
_NEEDS = {
    "": "neither network nor account",
    "network": "the network",
    "account": "an account or a service",
}
_STATES = {"ready": "ready", "needs_secret": "starts with made-up secrets", "fails": "fails"}
_REASONS = {
    "client_missing": "needs a newer Python",
    "crashed": "stops when it is started",
    "no_program": "no program of the expected name",
    "no_answer": "does not answer",
    "package_not_found": "no wheel for this machine",
    "package_not_built": "has only a source, which cannot be built here",
}


class Row(NamedTuple):
    """A package with its finding."""

    package: AtlasPackage
    found: dict[str, Any]

    @property
    def works(self) -> bool:
        """True if it was installed and started, and has listed its tools."""
        return bool(self.found["state"] != "fails")


def render_atlas() -> str:
    """Return the page, with figures and table written anew."""
    page = PAGE.read_text("utf-8")
    return _BLOCK.sub(lambda found: f"{found[1]}{_figures()}\n{_table()}{found[2]}", page)


def _rows() -> list[Row]:
    found = read_results()
    return [Row(one, found[one.slug]) for one in read_packages() if one.slug in found]


def _figures() -> str:
    rows = _rows()
    lines = [_figure(words, [row for row in rows if row.package.needs == needs])
             for needs, words in _NEEDS.items()]  # fmt: skip
    head = (
        "| needs | packages | work | | a tool was called | median seconds | again | median MB |\n"
    )
    head += "|---|--:|--:|--:|--:|--:|--:|--:|\n"
    return head + "".join([*lines, _figure("all", rows)])


def _figure(words: str, rows: list[Row]) -> str:
    working = [row for row in rows if row.works]
    if not working:
        return f"| {words} | {len(rows)} | 0 | | | | | |\n"
    called = sum(bool(row.found["called"]) for row in working)
    timed = [_median(working, name) for name in ("seconds", "seconds_again")]
    seconds = [f"{one:.0f}" if one else "" for one in timed]
    return (
        f"| {words} | {len(rows)} | {len(working)} | {100 * len(working) / len(rows):.0f} % "
        f"| {called or ''} | {' | '.join(seconds)} "
        f"| {_median(working, 'megabytes'):.0f} |\n"
    )


def _median(rows: Iterable[Row], name: str) -> float:
    return float(median([row.found[name] for row in rows if row.found.get(name)] or [0]))


def _table() -> str:
    head = "| package | version | state | bounds | tools | only read | called | s | again | MB |\n"
    head += "|---|---|---|---|--:|--:|---|--:|--:|--:|\n"
    return head + "".join(map(_line, _rows()))


def _line(row: Row) -> str:
    found, tools = row.found, row.found["tools"]
    reads = sum(effect == "read" for effect in tools.values())
    state = _STATES[found["state"]]
    if found["reason"] == "crashed" and row.package.needs == "network":
        state = f"{state}: stops without the network"
    elif found["reason"]:
        state = f"{state}: {_REASONS.get(found['reason'], found['reason'])}"
    called = f"`{found['called']}`" if found["called"] else ""
    bounds = " ".join(f"`{one}`" for one in found["bounds"])
    counts = f"{len(tools)} | {reads}" if row.works else "|"
    again = f"{found['seconds_again']:.0f}" if found.get("seconds_again") else ""
    sizes = f"{found['seconds']:.0f} | {again} | {found['megabytes']:.0f}" if row.works else "| |"
    return (
        f"| `{row.package.name}` | {found['version']} | {state} | {bounds} | {counts} "
        f"| {called} | {sizes} |\n"
    )
