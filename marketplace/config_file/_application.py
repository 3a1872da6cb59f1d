"""The state of one application: who applies, what was found, what is wrong, what has to wait."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import Group, User
from django.db.models import Q

from acl.people.groups import GroupRefused
from acl.people.people import PeopleRefused
from acl.people.spaces import SpaceRefused
from acl.rights.delegation import DelegationRefused
from catalog.access.rules import RuleRefused
from catalog.models import Capability, Integration
from catalog.registration.admin_corrections import ToolWordsRefused
from catalog.servers.cell.allowed_hosts import NotAHostError
from catalog.servers.net.private_hosts import HostRefusedError
from discovery.applications.service import ApplicationRefused
from discovery.calls.quotas import QuotaRefusedError
from marketplace.config_file._document import (
    ConfigDocument,
    FlowRuleEntry,
    GroupEntry,
    PersonEntry,
    QuotaEntry,
    TargetedRule,
)
from marketplace.config_file.export_service import Values, flow_rule_key, quota_key
from marketplace.config_file.text import Path, Problem, ReadDocument, written

# The plan: how the configuration differs before and after a file is applied, entry by entry.

Key = tuple[str, str]
QUOTA_SUBJECT = ("measure", "tool", "group", "user", "each_person")


@dataclass(frozen=True, slots=True)
class EntryChange:
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


def compare(before: Values, after: Values) -> list[EntryChange]:
    """Return the changes between two exports, by kind and name."""
    old, new = dict(_entries(before)), dict(_entries(after))
    changes = (_change(key, old, new) for key in sorted({*old, *new}, key=_place))
    return [change for change in changes if change is not None]


def _change(key: Key, old: dict[Key, Values], new: dict[Key, Values]) -> EntryChange | None:
    before, after = old.get(key), new.get(key)
    if before == after:
        return None
    action = "create" if before is None else "delete" if after is None else "change"
    names = dict.fromkeys([*(before or {}), *(after or {})])
    pairs = {name: ((before or {}).get(name), (after or {}).get(name)) for name in names}
    kind, name = key
    return EntryChange(
        action, kind, name, {n: pair for n, pair in pairs.items() if pair[0] != pair[1]}
    )


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
    for quota in document["quotas"]:
        words = " ".join(word for word in quota_key(quota) if word)
        yield ("quota", words), _besides(quota, *QUOTA_SUBJECT)
    for application in document["applications"]:
        yield ("application", application["name"]), _besides(application, "name")
    for pair in document["sign_in_groups"]:
        yield ("sign-in group", f"{pair['value']} gives {pair['group']}"), {}
    for trusted in document["trusted_values"]:
        yield ("trusted value", trusted["value"]), _besides(trusted, "value")
    for host in document["allowed_hosts"]:
        yield ("allowed host", host), {}
    if document["own_servers"]:
        yield ("setting", "own servers"), {}


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


_KINDS = (
    "group",
    "space",
    "integration",
    "tool",
    "grant",
    "rule",
    "flow rule",
    "quota",
    "application",
    "sign-in group",
    "trusted value",
    "allowed host",
    "setting",
)


def _place(key: Key) -> tuple[int, str]:
    return _KINDS.index(key[0]), key[1]


def _shown(value: Any) -> str:
    if value is None:
        return "(nothing)"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, list | dict) else str(value)


_REFUSALS = (
    *(
        ApplicationRefused,
        DelegationRefused,
        GroupRefused,
        HostRefusedError,
        NotAHostError,
        PeopleRefused,
    ),
    *(QuotaRefusedError, RuleRefused, SpaceRefused, ToolWordsRefused),
)


@dataclass(slots=True)
class FileRun:
    """An application of a document. Problems are collected, so that one run names them all."""

    by: User | None
    read: ReadDocument
    prune: bool
    problems: list[Problem] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _groups: dict[str, Group] = field(default_factory=dict)
    _people: dict[str, User] = field(default_factory=dict)
    _integrations: dict[str, Integration] = field(default_factory=dict)
    _tools: dict[str, Capability] = field(default_factory=dict)

    @property
    def document(self) -> ConfigDocument:
        """The file's contents."""
        return self.read.document

    def load_names(self) -> None:
        """Read everything that the file may name. Called again when rows have come."""
        document = self.document
        tool_names = {item.name for item in document.tools or []}
        limits: list[FlowRuleEntry | QuotaEntry] = [*(document.flow_rules or [])]
        limits += document.quotas or []
        tool_names |= {item.tool for item in limits if item.tool}
        entries: list[GroupEntry | PersonEntry] = []
        entries += [*(document.groups or []), *(document.people or [])]
        for entry in entries:
            rules: list[TargetedRule] = [*(entry.rules or [])]
            tool_names |= {*(entry.tools or []), *(rule.tool for rule in rules if rule.tool)}
        self._groups = {group.name: group for group in Group.objects.all()}
        self._integrations = {row.slug: row for row in Integration.objects.filter(owner=None)}
        by_name = Q(full_name__in=tool_names) | Q(source_texts__full_name__in=tool_names)
        tools = Capability.objects.filter(by_name).defer("input_schema", "content")
        self._tools = {row.source_full_name: row for row in tools}
        self._tools |= {row.full_name: row for row in tools}
        usernames = {item.user for item in document.people or []}
        usernames |= {item.user for item in document.quotas or [] if item.user}
        people = User.objects.filter(username__in=usernames)
        self._people = {person.username: person for person in people}

    def refuse(self, path: Path, reason: str) -> None:
        """Note an error of the file."""
        self.problems.append(Problem(self.read.line_of(path), written(path), reason))

    def wait(self, path: Path, reason: str) -> None:
        """Note an entry that cannot take effect yet."""
        self.waiting.append(Waiting(self.read.line_of(path), written(path), reason))

    @contextmanager
    def at(self, path: Path) -> Iterator[None]:
        """Turn what a service refuses into an error at this place of the file."""
        try:
            yield
        except _REFUSALS as refused:
            self.refuse(path, str(refused))

    def group(self, name: str, path: Path) -> Group | None:
        """Return a group by name, or note that there is none."""
        if (row := self._groups.get(name)) is None:
            self.refuse(path, f"there is no group called {name!r}")
        return row

    def person(self, name: str, path: Path) -> User | None:
        """Return a person by name, or note that there is none."""
        if (row := self._people.get(name)) is None:
            self.refuse(path, f"there is no user called {name!r}")
        return row

    def integration(self, slug: str, path: Path) -> Integration | None:
        """Return an integration by slug, or note that it is unknown or not here yet."""
        if (row := self._integrations.get(slug)) is not None:
            return row
        if slug in {entry.slug for entry in self.document.integrations or []}:
            self.wait(path, f"{slug} is not installed yet")
        else:
            self.refuse(path, f"there is no integration called {slug!r}")
        return None

    def is_gone(self, slug: str, name: str) -> bool:
        """Return True if there is no such integration, or no such tool."""
        return slug not in self._integrations if slug else name not in self._tools

    def tool(self, name: str, path: Path) -> Capability | None:
        """Return a tool by full name, or note that it is unknown or not listed yet."""
        if (row := self._tools.get(name)) is not None:
            return row
        if provider := self._provider_without_tools(name):
            self.wait(path, f"{provider} has not listed its tools yet, so {name} is not known")
        else:
            self.refuse(path, f"there is no tool called {name!r}")
        return None

    def _provider_without_tools(self, name: str) -> str:
        """Return the integration that may bring the tool once it is confirmed or installed."""
        slug = name.partition("__")[0]
        row = self._integrations.get(slug)
        if row is None:
            return (
                slug if slug in {entry.slug for entry in self.document.integrations or []} else ""
            )
        unread = row.unconfirmed or not Capability.objects.filter(integration=row).exists()
        return slug if unread else ""
