"""Text forms of changes: lines carried by forms, and sentences.

A line is `verb|subject|target|space|effect`: a subject is `group-3` or `user-4`, a target
`integration-5` or `capability-6`, a space `space-7`, an effect its number. Lines that name deleted
objects are ignored.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, get_args

from django.contrib.auth.models import Group, User
from django.db.models import Model

from acl.models import Space
from catalog.access.change_preview import Change, Verb
from catalog.models import Capability, Integration, Rule

MOST_CHANGES = 5_000
REVERSE: dict[Verb, Verb] = {
    "grant": "revoke",
    "revoke": "grant",
    "rule": "unrule",
    "unrule": "rule",
    "open": "close",
    "close": "open",
    "restrict": "unrestrict",
    "unrestrict": "restrict",
}
_KINDS: dict[str, Any] = {
    "group": Group.objects,
    "user": User.objects,
    "integration": Integration.objects,
    "capability": Capability.objects.select_related("integration"),
    "space": Space.objects.select_related("group"),
}


def write_changes(changes: Iterable[Change]) -> str:
    """Serialize changes as lines."""
    return "\n".join(dict.fromkeys(map(write_change, changes)))


def write_change(change: Change) -> str:
    """Serialize one change."""
    things = (change.user or change.group, change.target, change.space)
    effect = "" if change.effect is None else str(int(change.effect))
    return "|".join([change.verb, *map(reference, things), effect])


def reference(thing: Model | None) -> str:
    """Return a reference such as `integration-5`, or ""."""
    return f"{thing._meta.model_name}-{thing.pk}" if thing is not None else ""


def read_changes(text: str) -> list[Change]:
    """Parse changes, with at most five statements."""
    lines = [line.strip().split("|") for line in dict.fromkeys(text.splitlines())]
    whole = [line for line in lines if len(line) == 5 and line[0] in get_args(Verb)]
    whole = whole[:MOST_CHANGES]
    things = find_things(name for line in whole for name in line[1:4])
    return [
        _build_change(line, things)
        for line in whole
        if all(name in things for name in line[1:4] if name)
    ]


def find_things(names: Iterable[str]) -> dict[str, Model]:
    """Return the existing objects by reference."""
    wanted: dict[str, set[int]] = defaultdict(set)
    for name in names:
        kind, _, key = name.partition("-")
        if kind in _KINDS and key.isdecimal() and len(key) < 10:
            wanted[kind].add(int(key))
    found = (thing for kind, keys in wanted.items() for thing in _KINDS[kind].filter(pk__in=keys))
    return {reference(thing): thing for thing in found}


def reversed_changes(changes: Sequence[Change]) -> list[Change]:
    """Return the changes that undo these."""
    return [
        Change(
            verb=REVERSE[change.verb],
            target=change.target,
            user=change.user,
            group=change.group,
            space=change.space,
            effect=change.effect,
        )
        for change in reversed(changes)
    ]


def sentence(change: Change) -> str:
    """Describe a change in a sentence."""
    whom = change.user or change.group
    what = title(change.target)
    match change.verb:
        case "grant":
            return f"Give {what} to {whom}"
        case "revoke":
            return f"Take {what} from {whom}"
        case "open":
            return f"Open {whom} to everything that is not restricted"
        case "close":
            return f"Let {whom} use only what has been given"
        case "restrict":
            return f"Keep {what} out of what open groups have by default"
        case "unrestrict":
            return f"Let open groups have {what} by default"
    laid = _describe_effect(change.effect, what, str(whom) if whom else "everyone")
    place = f"{change.space.name} of {change.space.group.name}" if change.space else ""
    return f"{'In' if change.verb == 'rule' else 'No longer in'} {place}: {laid}"


def title(target: Model | None) -> str:
    """Return an integration's title or a capability's full name."""
    return target.title if isinstance(target, Integration) else str(target or "")


def _describe_effect(effect: Rule.Effect | None, what: str, whom: str) -> str:
    if effect == Rule.Effect.DENY:
        return f"deny {what} for {whom}"
    if effect == Rule.Effect.PROPOSE:
        return f"{what} asks first for {whom}"
    return f"allow {what} for {whom}"


def _build_change(line: list[str], things: dict[str, Model]) -> Change:
    verb, whom, what, where, effect = line
    subject, target, space = (things.get(name) for name in (whom, what, where))
    return Change(
        verb=verb,  # type: ignore[arg-type]
        target=target if isinstance(target, (Integration, Capability)) else None,
        user=subject if isinstance(subject, User) else None,
        group=subject if isinstance(subject, Group) else None,
        space=space if isinstance(space, Space) else None,
        effect=Rule.Effect(int(effect)) if effect in {"0", "1", "2"} else None,
    )
