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
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

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
_RULE_SENTENCES = {
    ("rule", Rule.Effect.DENY): gettext_lazy("In %(place)s: deny %(what)s for %(whom)s"),
    ("rule", Rule.Effect.PROPOSE): gettext_lazy("In %(place)s: %(what)s asks first for %(whom)s"),
    ("rule", Rule.Effect.ALLOW): gettext_lazy("In %(place)s: allow %(what)s for %(whom)s"),
    ("unrule", Rule.Effect.DENY): gettext_lazy(
        "No longer in %(place)s: deny %(what)s for %(whom)s"
    ),
    ("unrule", Rule.Effect.PROPOSE): gettext_lazy(
        "No longer in %(place)s: %(what)s asks first for %(whom)s"
    ),
    ("unrule", Rule.Effect.ALLOW): gettext_lazy(
        "No longer in %(place)s: allow %(what)s for %(whom)s"
    ),
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
    keys_by_kind: dict[str, set[int]] = defaultdict(set)
    for name in names:
        kind, key = name.partition("-")[::2]
        if kind in _KINDS and key.isdecimal() and len(key) < 10:
            keys_by_kind[kind].add(int(key))
    things = (
        thing for kind, keys in keys_by_kind.items() for thing in _KINDS[kind].filter(pk__in=keys)
    )
    return {reference(thing): thing for thing in things}


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
    whom = change.user or change.group or _("everyone")
    names = {"what": title(change.target), "whom": whom}
    match change.verb:
        case "grant":
            return _("Grant %(what)s to %(whom)s") % names
        case "revoke":
            return _("Revoke %(what)s from %(whom)s") % names
        case "open":
            return _("Allow %(whom)s everything that is not restricted") % names
        case "close":
            return _("Allow %(whom)s only what is granted") % names
        case "restrict":
            return _("Restrict %(what)s: open groups no longer have it by default") % names
        case "unrestrict":
            return _("Allow %(what)s by default in open groups") % names
    effect = Rule.Effect.ALLOW if change.effect is None else change.effect
    return str(_RULE_SENTENCES[change.verb, effect]) % {**names, "place": _name_place(change.space)}


def title(target: Model | None) -> str:
    """Return an integration's title or a capability's full name."""
    return target.title if isinstance(target, Integration) else str(target or "")


def _name_place(space: Space | None) -> str:
    if space is None:
        return ""
    return _("%(space)s of %(group)s") % {"space": space.name, "group": space.group.name}


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
