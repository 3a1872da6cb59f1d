"""Side effects: whether using a capability reads, writes or deletes."""

import re

from catalog.formats.descriptors import SideEffect
from catalog.formats.entry import Entry

_READ = frozenset(
    """analyze browse calculate check compare compute convert count describe detect diff
    discover estimate evaluate explain explore fetch filter find forecast get grep head
    inspect info is list lookup look monitor parse peek ping predict preview query rank read
    recommend resolve retrieve review scan scrape search select show status suggest
    summarize summarise tail translate validate verify view watch whoami""".split()  # noqa: SIM905
)
_DELETE = frozenset(
    """clear cleanup delete del destroy drop erase forget hdel kill prune purge remove reset
    revoke rm srem terminate trash truncate uninstall unlink wipe zrem""".split()  # noqa: SIM905
)
_WRITE = frozenset(
    """accept add append apply approve archive assign attach block book build buy call cancel
    change click close commit complete configure connect copy create deploy disable draft
    edit enable execute exec export fill fork generate import init insert install invite
    invoke join launch lock log make mark merge modify move navigate open order patch pay
    pause place play post press publish push put record register rename reply reschedule
    restart restore resume retry run save schedule send set share sign start stop store
    submit subscribe swap sync tag toggle transfer trigger turn type unblock update upgrade
    upload upsert withdraw write""".split()  # noqa: SIM905
)


def side_effect_from_verbs(name: str) -> SideEffect | None:
    """Infer the side effect from verbs: any delete verb wins, then the first verb; else None."""
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]
    if any(word in _DELETE for word in words):
        return "delete"
    for word in words:
        if word in _READ:
            return "read"
        if word in _WRITE:
            return "write"
    return None


def side_effect_of_tool(name: str, annotations: Entry | None) -> SideEffect:
    """Return the side effect by a tool's annotations.

    A server's tool without annotations is a `write`, whatever its name suggests.
    """
    read_only = annotations.flag("readOnlyHint") if annotations else None
    destructive = annotations.flag("destructiveHint") if annotations else None
    if read_only:
        return "read"
    if destructive or (destructive is None and side_effect_from_verbs(name) == "delete"):
        return "delete"
    return "write"


def side_effect_declared(
    name: str, has_side_effects: bool | None, *, otherwise: SideEffect = "write"
) -> SideEffect:
    """Return the side effect by `hasSideEffects`, or else by the verbs in the name."""
    by_verbs = side_effect_from_verbs(name)
    if has_side_effects is None:
        return by_verbs or otherwise
    if not has_side_effects:
        return "read"
    return "delete" if by_verbs == "delete" else "write"
