"""The state of one application: who applies, what was found, what is wrong, what has to wait."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.contrib.auth.models import Group, User

from acl.accounts.groups import GroupRefused
from acl.accounts.people import PeopleRefused
from acl.accounts.spaces import SpaceRefused
from acl.delegation import DelegationRefused
from catalog.access.rules import RuleRefused
from catalog.models import Capability, Integration
from catalog.servers.cell.allowed_hosts import NotAHostError
from marketplace.configuration.config_text import Path, Problem, ReadDocument, written
from marketplace.configuration.document import Document, GroupEntry, PersonEntry, TargetedRule
from marketplace.configuration.plan import Waiting

_REFUSALS = (
    *(DelegationRefused, GroupRefused, NotAHostError, PeopleRefused, RuleRefused, SpaceRefused),
)


@dataclass(slots=True)
class Application:
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
    def document(self) -> Document:
        """The file's contents."""
        return self.read.document

    def load_names(self) -> None:
        """Read everything that the file may name. Called again when rows have come."""
        document = self.document
        named = {one.name for one in document.tools or []}
        named |= {one.tool for one in document.flow_rules or [] if one.tool}
        entries: list[GroupEntry | PersonEntry] = []
        entries += [*(document.groups or []), *(document.people or [])]
        for entry in entries:
            rules: list[TargetedRule] = [*(entry.rules or [])]
            named |= {*(entry.tools or []), *(rule.tool for rule in rules if rule.tool)}
        self._groups = {group.name: group for group in Group.objects.all()}
        self._integrations = {row.slug: row for row in Integration.objects.all()}
        tools = Capability.objects.filter(full_name__in=named).defer("input_schema", "content")
        self._tools = {row.full_name: row for row in tools}
        people = User.objects.filter(username__in=[one.user for one in self.document.people or []])
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
        if (found := self._groups.get(name)) is None:
            self.refuse(path, f"there is no group called {name!r}")
        return found

    def person(self, name: str, path: Path) -> User | None:
        """Return a person by name, or note that there is none."""
        if (found := self._people.get(name)) is None:
            self.refuse(path, f"there is no user called {name!r}")
        return found

    def integration(self, slug: str, path: Path) -> Integration | None:
        """Return an integration by slug, or note that it is unknown or not here yet."""
        if (found := self._integrations.get(slug)) is not None:
            return found
        if slug in {one.slug for one in self.document.integrations or []}:
            self.wait(path, f"{slug} is not installed yet")
        else:
            self.refuse(path, f"there is no integration called {slug!r}")
        return None

    def is_gone(self, slug: str, name: str) -> bool:
        """Return True if there is no such integration, or no such tool."""
        return slug not in self._integrations if slug else name not in self._tools

    def tool(self, name: str, path: Path) -> Capability | None:
        """Return a tool by full name, or note that it is unknown or not listed yet."""
        if (found := self._tools.get(name)) is not None:
            return found
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
            return slug if slug in {one.slug for one in self.document.integrations or []} else ""
        unread = row.unconfirmed or not Capability.objects.filter(integration=row).exists()
        return slug if unread else ""
