"""The plan: how the configuration differs before and after a file is applied, entry by entry."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from marketplace.configuration.export_service import Values, flow_rule_key

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one entry: `create`, `change` or `delete`.

    `fields` has what changes, each with the value before and after: None where it is not there.
    """

    action: str
    kind: str
    name: str
    fields: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    def as_json(self) -> Values:
        """Return the change for programs."""
        fields = {
            name: {"before": before, "after": after}
            for name, (before, after) in self.fields.items()
        }
        return {"action": self.action, "kind": self.kind, "name": self.name, "fields": fields}

    def __str__(self) -> str:
        sign = {"create": "+", "change": "~", "delete": "-"}[self.action]
        head = f"{sign} {self.kind} {self.name}"
        if self.action == "delete":
            return head
        lines = [head]
        for name, (before, after) in self.fields.items():
            if self.action == "create":
                lines.append(f"    {name}: {_shown(after)}")
            else:
                lines.append(f"    {name}: {_shown(before)} → {_shown(after)}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A waiting entry of the file, with the reason: something else has to happen first."""

    line: int
    path: str
    reason: str

    def __str__(self) -> str:
        return f"! line {self.line}: {self.path}: {self.reason}"


def compare(before: Values, after: Values) -> list[Change]:
    """Return the changes between two exports, by kind and name."""
    old, new = dict(_entries(before)), dict(_entries(after))
    changes = (_change(key, old, new) for key in sorted({*old, *new}, key=_place))
    return [change for change in changes if change is not None]


def _change(key: Key, old: dict[Key, Values], new: dict[Key, Values]) -> Change | None:
    before, after = old.get(key), new.get(key)
    if before == after:
        return None
    action = "create" if before is None else "delete" if after is None else "change"
    names = dict.fromkeys([*(before or {}), *(after or {})])
    pairs = {name: ((before or {}).get(name), (after or {}).get(name)) for name in names}
    kind, name = key
    return Change(action, kind, name, {n: pair for n, pair in pairs.items() if pair[0] != pair[1]})


def _entries(document: Values) -> Iterator[tuple[Key, Values]]:
    """Yield everything that the plan names. A group's spaces, rules and grants stand alone."""
    for group in document.get("groups", []):
        name = group["name"]
        yield ("group", name), {"default": group["default"]}
        for space in group["spaces"]:
            yield ("space", f"{name}/{space['slug']}"), _besides(space, "slug")
        yield from _grants(group, f"group {name}")
        for rule in group["rules"]:
            subject = f"group {rule['group']}" if "group" in rule else "everyone"
            yield _rule(rule, name, subject), {}
    for person in document.get("people", []):
        subject = f"user {person['user']}"
        yield from _grants(person, subject)
        for rule in person["rules"]:
            yield _rule(rule, rule["group"], subject), {}
    for integration in document["integrations"]:
        yield ("integration", integration["slug"]), _besides(integration, "slug")
    for tool in document["tools"]:
        yield ("tool", tool["name"]), _besides(tool, "name")
    for flow in document["flow_rules"]:
        words = ", ".join(word for word in _flow_words(flow) if word)
        yield ("flow rule", words), {"mode": flow["mode"]}
    for trusted in document["trusted_values"]:
        yield ("trusted value", trusted["value"]), _besides(trusted, "value")


def _grants(entry: Values, subject: str) -> Iterator[tuple[Key, Values]]:
    for slug in entry["integrations"]:
        yield ("grant", f"integration {slug} to {subject}"), {}
    for tool in entry["tools"]:
        yield ("grant", f"tool {tool} to {subject}"), {}


def _rule(rule: Values, group: str, subject: str) -> Key:
    what = f"tool {rule['tool']}" if "tool" in rule else f"integration {rule['integration']}"
    return "rule", f"{rule['effect']} {what} in {group}/{rule['space']} for {subject}"


def _flow_words(entry: Values) -> Iterator[str]:
    tool, group, space_group, space = flow_rule_key(entry)
    yield f"tool {tool}" if tool else ""
    yield f"group {group}" if group else ""
    yield f"space {space_group}/{space}" if space else ""


def _besides(entry: Values, *names: str) -> Values:
    return {name: value for name, value in entry.items() if name not in names}


_KINDS = ("group", "space", "integration", "tool", "grant", "rule", "flow rule", "trusted value")


def _place(key: Key) -> tuple[int, str]:
    return _KINDS.index(key[0]), key[1]


def _shown(value: Any) -> str:
    if value is None:
        return "(nothing)"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, list | dict) else str(value)
