"""Groups as stored: members, spaces with their rules, and grants.

Only the rights statement knows what a person may use.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import Group, User
from django.db.models import Count, F, Q, QuerySet
from django.db.models.expressions import RawSQL

from acl.models import Space
from acl.rights.precedence import rank_sql
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
    is_joined: bool
    members: int
    spaces: int


@dataclass(frozen=True, slots=True)
class GroupList:
    """A page of groups."""

    rows: tuple[GroupRow, ...]
    count: int
    page: int
    pages: int


@dataclass(frozen=True, slots=True)
class SpaceBranch:
    """A space in the tree; `depth` is 0 for the root."""

    space: Space
    depth: int
    rules: int
    children: tuple["SpaceBranch", ...]

    @property
    def indented(self) -> str:
        """Return the name, indented for a list of choices."""
        return "- " * self.depth + self.space.name


@dataclass(frozen=True, slots=True)
class Grants:
    """A page of a group's grants: integrations first, then capabilities."""

    integrations: tuple[Integration, ...]
    capabilities: tuple[Capability, ...]
    count: int
    page: int
    pages: int


@dataclass(frozen=True, slots=True)
class Level:
    """The rules of one space, and its distance from the viewed space below it."""

    space: Space
    distance: int
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class TargetMatches:
    """Integrations and capabilities matching a search."""

    integrations: tuple[Integration, ...]
    capabilities: tuple[Capability, ...]
    more: bool


def list_groups(*, words: str, page: int) -> GroupList:
    """Return a page of groups by name, with their numbers of members and spaces."""
    groups = Group.objects.all()
    for word in words.split()[:8]:
        groups = groups.filter(name__icontains=word)
    count = groups.count()
    pages = max(1, -(-count // PAGE_SIZE))
    page = min(max(1, page), pages)
    rows = groups.annotate(
        is_open=F("policy__open_default"),
        is_joined=F("policy__joined_by_default"),
        members=Count("user", filter=Q(user__is_active=True), distinct=True),
        places=Count("spaces", distinct=True),
    ).order_by("name", "pk")[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
    return GroupList(
        tuple(
            GroupRow(row, bool(row.is_open), bool(row.is_joined), row.members, row.places)
            for row in rows
        ),
        count,
        page,
        pages,
    )


def list_members(group: Group) -> tuple[Sequence[User], int]:
    """Return the first active members, and the number of all."""
    people = User.objects.filter(groups=group, is_active=True).order_by("username")
    return list(people[:MOST_MEMBERS]), people.count()


def build_tree(group: Group) -> SpaceBranch | None:
    """Return the tree of spaces by name, with the number of rules in each."""
    rules = dict(
        Rule.objects.filter(space__group=group)
        .order_by("space")
        .values_list("space")
        .annotate(number=Count("pk"))
    )
    spaces = list(Space.objects.filter(group=group).order_by("name", "pk"))

    def branch(space: Space, depth: int) -> SpaceBranch:
        below = [child for child in spaces if child.parent_id == space.pk and depth < DEEPEST]
        children = tuple(branch(child, depth + 1) for child in below)
        return SpaceBranch(space, depth, rules.get(space.pk, 0), children)

    roots = [space for space in spaces if space.parent_id is None]
    return branch(roots[0], 0) if roots else None


def walk_tree(branch: SpaceBranch | None) -> Iterator[SpaceBranch]:
    """Yield a branch and all its descendants, in depth-first order."""
    if branch is not None:
        yield branch
        for child in branch.children:
            yield from walk_tree(child)


def list_grants(group: Group, *, words: str, page: int) -> Grants:
    """Return a page of the group's grants that match the words."""
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


def list_rules(group: Group, words: str) -> list[Rule]:
    """Return rules in the group's spaces about matching targets."""
    rules = Rule.objects.filter(space__group=group)
    for word in words.split()[:8]:
        rules = rules.filter(
            Q(integration__slug__icontains=word)
            | Q(integration__title__icontains=word)
            | Q(capability__full_name__icontains=word)
        )
    return list(_sort_rules(rules)[:PAGE_SIZE])


def list_levels(space: Space) -> list[Level]:
    """Return the space and its ancestors up to the root, with their rules."""
    spaces = {node.pk: node for node in Space.objects.filter(group=space.group_id)}
    path: list[Space] = []
    place: int | None = space.pk
    while place in spaces and spaces[place] not in path:
        path.append(spaces[place])
        place = spaces[place].parent_id
    rules = list(_sort_rules(Rule.objects.filter(space__in=path)))
    return [
        Level(node, distance, tuple(rule for rule in rules if rule.space_id == node.pk))
        for distance, node in enumerate(path)
    ]


def find_targets(words: str, *, integrations: bool = True) -> TargetMatches:
    """Search integrations and capabilities by name; without words, return the first ones."""
    wholes = list(_integrations(words)[: MOST_FOUND + 1]) if integrations else []
    singles = list(_capabilities(words)[: MOST_FOUND + 1])
    more = max(len(wholes), len(singles)) > MOST_FOUND
    return TargetMatches(tuple(wholes[:MOST_FOUND]), tuple(singles[:MOST_FOUND]), more)


def _integrations(words: str) -> "QuerySet[Integration]":
    shared = Integration.objects.filter(owner=None)
    integrations = shared.annotate(picture=F("icon__image")).order_by("title", "pk")
    for word in words.split()[:8]:
        integrations = integrations.filter(Q(slug__icontains=word) | Q(title__icontains=word))
    return integrations


def _capabilities(words: str) -> "QuerySet[Capability]":
    shared = Capability.objects.filter(integration__owner=None)
    capabilities = shared.select_related("integration").order_by("full_name", "pk")
    for word in words.split()[:8]:
        capabilities = capabilities.filter(
            Q(full_name__icontains=word) | Q(display_name__icontains=word)
        )
    return capabilities


def _sort_rules(rules: "QuerySet[Rule]") -> "QuerySet[Rule]":
    """Order rules as if they were of one space: the winning ones first."""
    related = ("space", "integration", "capability__integration", "user", "group")
    rank = RawSQL(rank_sql(rule=Rule._meta.db_table, distance="0"), ())  # noqa: S611 - constant SQL
    return rules.select_related(*related).order_by(
        rank, "integration__title", "capability__full_name", "pk"
    )
