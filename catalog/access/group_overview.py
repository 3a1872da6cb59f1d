"""What an admin sees of a group: its people, its tree of spaces with their rules, its grants.

As stored. What somebody may use in the end is another question, and only the statement of rights
answers it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import Group, User
from django.db.models import Count, F, Q, QuerySet
from django.db.models.expressions import RawSQL

from acl.models import Space
from acl.rights.precedence_sql import rank_sql
from catalog.models import (
    Capability,
    CapabilityGroupPermission,
    Integration,
    IntegrationGroupPermission,
    Rule,
)

PAGE_SIZE = 50
MOST_MEMBERS = 60
MOST_FOUND = 8
DEEPEST = 32


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group in the list of groups."""

    group: Group
    is_open: bool
    members: int
    spaces: int


@dataclass(frozen=True, slots=True)
class GroupList:
    """One page of the groups."""

    rows: tuple[GroupRow, ...]
    count: int
    page: int
    pages: int


@dataclass(frozen=True, slots=True)
class Branch:
    """A space in the tree; `depth` is 0 for the root."""

    space: Space
    depth: int
    rules: int
    children: tuple["Branch", ...]

    @property
    def indented(self) -> str:
        """The name as it stands in a plain list of choices."""
        return "- " * self.depth + self.space.name


@dataclass(frozen=True, slots=True)
class Grants:
    """One page of what a group was given: integrations first, then single capabilities."""

    integrations: tuple[Integration, ...]
    capabilities: tuple[Capability, ...]
    count: int
    page: int
    pages: int


@dataclass(frozen=True, slots=True)
class Level:
    """The rules of one space, seen from a space below it or from itself."""

    space: Space
    distance: int
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """Integrations and capabilities that fit some words."""

    integrations: tuple[Integration, ...]
    capabilities: tuple[Capability, ...]
    more: bool


def list_groups(*, words: str, page: int) -> GroupList:
    """Groups by name, with how many people and spaces they have."""
    groups = Group.objects.all()
    for word in words.split()[:8]:
        groups = groups.filter(name__icontains=word)
    count = groups.count()
    pages = max(1, -(-count // PAGE_SIZE))
    page = min(max(1, page), pages)
    rows = groups.annotate(
        is_open=F("policy__open_default"),
        members=Count("user", filter=Q(user__is_active=True), distinct=True),
        places=Count("spaces", distinct=True),
    ).order_by("name", "pk")[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
    return GroupList(
        tuple(GroupRow(row, bool(row.is_open), row.members, row.places) for row in rows),
        count,
        page,
        pages,
    )


def members_of(group: Group) -> tuple[Sequence[User], int]:
    """The first of the group's active people, and how many there are."""
    people = User.objects.filter(groups=group, is_active=True).order_by("username")
    return list(people[:MOST_MEMBERS]), people.count()


def tree_of(group: Group) -> Branch | None:
    """The group's spaces from the root, by name, each with the number of its rules."""
    rules = dict(
        Rule.objects.filter(space__group=group)
        .order_by("space")
        .values_list("space")
        .annotate(number=Count("pk"))
    )
    spaces = list(Space.objects.filter(group=group).order_by("name", "pk"))

    def branch(space: Space, depth: int) -> Branch:
        below = [child for child in spaces if child.parent_id == space.pk and depth < DEEPEST]
        children = tuple(branch(child, depth + 1) for child in below)
        return Branch(space, depth, rules.get(space.pk, 0), children)

    roots = [space for space in spaces if space.parent_id is None]
    return branch(roots[0], 0) if roots else None


def flat(branch: Branch | None) -> Iterator[Branch]:
    """The branch and everything below it, as one reads a tree."""
    if branch is not None:
        yield branch
        for child in branch.children:
            yield from flat(child)


def grants_of(group: Group, *, words: str, page: int) -> Grants:
    """What the group was given and fits the words, a page of it."""
    whole = IntegrationGroupPermission.objects.filter(
        group=group, permission__codename="use_integration"
    )
    single = CapabilityGroupPermission.objects.filter(
        group=group, permission__codename="use_capability"
    )
    integrations = _integrations(words).filter(pk__in=whole.values("content_object"))
    capabilities = _capabilities(words).filter(pk__in=single.values("content_object"))
    first, second = integrations.count(), capabilities.count()
    pages = max(1, -(-(first + second) // PAGE_SIZE))
    page = min(max(1, page), pages)
    start, end = (page - 1) * PAGE_SIZE, page * PAGE_SIZE
    return Grants(
        tuple(integrations[start:end]),
        tuple(capabilities[max(0, start - first) : max(0, end - first)]),
        first + second,
        page,
        pages,
    )


def rules_of(group: Group, words: str) -> list[Rule]:
    """Rules in the group's spaces about what fits the words."""
    rules = Rule.objects.filter(space__group=group)
    for word in words.split()[:8]:
        rules = rules.filter(
            Q(integration__slug__icontains=word)
            | Q(integration__title__icontains=word)
            | Q(capability__full_name__icontains=word)
        )
    return list(_in_order(rules)[:PAGE_SIZE])


def levels_of(space: Space) -> list[Level]:
    """The space and those above it up to the root, each with its rules."""
    spaces = {one.pk: one for one in Space.objects.filter(group=space.group_id)}
    path: list[Space] = []
    place: int | None = space.pk
    while place in spaces and spaces[place] not in path:
        path.append(spaces[place])
        place = spaces[place].parent_id
    rules = list(_in_order(Rule.objects.filter(space__in=path)))
    return [
        Level(one, distance, tuple(rule for rule in rules if rule.space_id == one.pk))
        for distance, one in enumerate(path)
    ]


def find_targets(words: str, *, integrations: bool = True) -> Found:
    """What the words may mean, by its names; without words the first by name."""
    wholes = list(_integrations(words)[: MOST_FOUND + 1]) if integrations else []
    singles = list(_capabilities(words)[: MOST_FOUND + 1])
    more = max(len(wholes), len(singles)) > MOST_FOUND
    return Found(tuple(wholes[:MOST_FOUND]), tuple(singles[:MOST_FOUND]), more)


def _integrations(words: str) -> "QuerySet[Integration]":
    found = Integration.objects.order_by("title", "pk")
    for word in words.split()[:8]:
        found = found.filter(Q(slug__icontains=word) | Q(title__icontains=word))
    return found


def _capabilities(words: str) -> "QuerySet[Capability]":
    found = Capability.objects.select_related("integration").order_by("full_name", "pk")
    for word in words.split()[:8]:
        found = found.filter(Q(full_name__icontains=word) | Q(display_name__icontains=word))
    return found


def _in_order(rules: "QuerySet[Rule]") -> "QuerySet[Rule]":
    """Order rules as if they were of one space: the winning ones first."""
    related = ("space", "integration", "capability__integration", "user", "group")
    rank = RawSQL(rank_sql(rule=Rule._meta.db_table, distance="0"), ())  # noqa: S611 - our own words
    return rules.select_related(*related).order_by(
        rank, "integration__title", "capability__full_name", "pk"
    )
