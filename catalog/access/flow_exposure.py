"""Groups whose members can read private data and strangers' text and reach outside, unasked.

Each of the three is useful alone. Together they let a text that a stranger wrote send private data
away, by calls that are each allowed. What asks first does not count: a person looks at it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

from django.contrib.auth.models import Group, User

from acl.models import Space
from acl.platform.database_connections import rows_of
from acl.rights.statement import members_sql
from catalog.access.change_preview import Change
from catalog.models import Capability, Rule
from catalog.querysets import TABLES
from catalog.readiness.obstacles import moves_data_sql
from catalog.readiness.readiness import asks_first_sql, policy_parameters

Leg = Literal["reads_private_data", "returns_foreign_text", "reaches_outside"]
LEGS: tuple[Leg, ...] = get_args(Leg)
# Of equally small changes, the one about what leaves is the first: reading stays as it is.
_SEPARATED_AT: tuple[Leg, ...] = ("reaches_outside", "returns_foreign_text", "reads_private_data")
# Members with other rights than the rest, times spaces that allow more: bounds the statement.
MOST_MEMBERS = 300


@dataclass(frozen=True, slots=True)
class LegTools:
    """Tools of one integration that do one of the three."""

    integration: str
    slug: str
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Exposure:
    """Exposure of a group that holds all three, with the smallest change that ends it."""

    group: Group
    # Only these people hold them, if not all do; and only in these spaces, if not everywhere.
    people: tuple[str, ...]
    spaces: tuple[str, ...]
    legs: Mapping[Leg, tuple[LegTools, ...]]
    separated_at: Leg
    tools_changed: int
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class ExposureReport:
    """All exposures by group, and the number of members beyond `MOST_MEMBERS`, who are missing."""

    exposures: tuple[Exposure, ...]
    not_worked_out: int


@dataclass(frozen=True, slots=True)
class _Holding:
    """All three in one space, for everyone with no rights of their own or for one person."""

    group: int
    user: int | None
    space: int | None
    legs: Mapping[Leg, frozenset[int]]


def find_exposures() -> ExposureReport:
    """Return the groups that hold all three, by at most six statements for any number of groups."""
    holdings, left_out = _read_holdings()
    facts = _Facts(holdings)
    by_group: dict[int, list[_Holding]] = defaultdict(list)
    for holding in holdings:
        by_group[holding.group].append(holding)
    exposures = [_exposure(by_group[group.pk], facts) for group in facts.groups]
    return ExposureReport(tuple(exposures), left_out)


_EACH = """
member AS MATERIALIZED (       -- own: rules or grants may treat them in another way than the rest
  SELECT m.group_id, m.user_id,
    EXISTS (SELECT FROM {integration_user} g WHERE g.user_id = m.user_id)
    OR EXISTS (SELECT FROM {capability_user} g WHERE g.user_id = m.user_id)
    OR EXISTS (SELECT FROM {rule} r JOIN acl_space s ON s.id = r.space_id
      WHERE s.group_id = m.group_id AND (r.user_id = m.user_id OR r.group_id IN
        (SELECT o.group_id FROM auth_user_groups o WHERE o.user_id = m.user_id))) AS own
  FROM auth_user_groups m JOIN auth_user u ON u.id = m.user_id AND u.is_active
),
person AS (
  SELECT group_id, min(user_id) AS user_id, false AS own FROM member WHERE NOT own GROUP BY 1
  UNION ALL SELECT group_id, user_id, true FROM member WHERE own
),
every AS MATERIALIZED (        -- a space adds nothing to the one above it unless a rule allows
  SELECT p.group_id, p.user_id, p.own, s.id AS space_id, s.parent_id IS NOT NULL AS below
  FROM person p LEFT JOIN acl_space s ON s.group_id = p.group_id AND (
    NOT EXISTS (SELECT FROM acl_space a WHERE a.id = s.parent_id AND a.group_id = s.group_id)
    OR EXISTS (SELECT FROM {rule} r WHERE r.space_id = s.id AND r.effect = 2))
),
each AS MATERIALIZED (
  SELECT * FROM every ORDER BY own, below, group_id, user_id, space_id LIMIT %(most)s::int
),
asked AS MATERIALIZED (
  SELECT id FROM {capability} WHERE effect_flags && %(legs)s::varchar[]
)
"""


@cache
def _holdings_sql() -> str:
    legs = ", ".join(
        f"array_agg(c.id ORDER BY c.id) FILTER (WHERE c.effect_flags @> ARRAY['{leg}'::varchar])"
        for leg in LEGS
    )
    asks_first = asks_first_sql(mode="u.mode", capability="c", integration="i")
    moves_data = moves_data_sql(capability="c", integration="i")
    each_sql = _EACH.format(**{name: getattr(TABLES, name) for name in TABLES.__slots__})
    return f"""
WITH RECURSIVE {each_sql}, {members_sql(TABLES)},
held AS (
  SELECT u.group_id, u.user_id, u.space_id, {legs} FROM usable u
  JOIN catalog_capability c ON c.id = u.id JOIN catalog_integration i ON i.id = c.integration_id
  WHERE NOT {asks_first} AND {moves_data} GROUP BY 1, 2, 3
)
SELECT h.*, e.own FROM held h JOIN each e USING (group_id, user_id)
WHERE h.space_id IS NOT DISTINCT FROM e.space_id
UNION ALL
SELECT NULL, NULL, GREATEST(count(*) - %(most)s::int, 0), NULL, NULL, NULL, NULL FROM every
"""  # noqa: S608 - constants only


def _read_holdings() -> tuple[list[_Holding], int]:
    """Return where all three are held, and the number of members left out."""
    parameters = {
        **policy_parameters(),
        "most": MOST_MEMBERS,
        "legs": list(LEGS),
        "unavailable": True,  # a server that is down now comes back
        "kind": "",
        "connected": False,
        "application": None,
        "user": None,  # whose own accounts count: nobody asks for them here
    }
    holdings, left_out = [], 0
    for group, user, space, *legs, has_own_rights in rows_of(_holdings_sql(), parameters):
        if group is None:
            left_out = space
        elif all(legs):
            sets = dict(zip(LEGS, map(frozenset, legs), strict=True))
            holdings.append(_Holding(group, user if has_own_rights else None, space, sets))
    return holdings, left_out


class _Facts:
    """Names of what the holdings mention, and the rules that allow it."""

    def __init__(self, holdings: Collection[_Holding]) -> None:
        tools = {pk for item in holdings for leg in item.legs.values() for pk in leg}
        held = {item.group for item in holdings}
        self.groups = list(Group.objects.filter(pk__in=held).order_by("name", "pk"))
        people = {item.user for item in holdings if item.user}
        self.people = User.objects.in_bulk(people)
        self.spaces = {
            item.pk: item for item in Space.objects.filter(group__in=held).select_related("group")
        }
        self.tools = Capability.objects.select_related("integration").in_bulk(tools)
        # By space: the capabilities and integrations that a rule there allows.
        self._allowed: dict[int, set[tuple[str, int]]] = defaultdict(set)
        allowing = Rule.objects.filter(space__group__in=held, effect=Rule.Effect.ALLOW)
        for space, capability, integration in allowing.values_list(
            "space_id", "capability_id", "integration_id"
        ):
            target = ("tool", capability) if capability else ("integration", integration)
            self._allowed[space].add(target)

    def covering(self, tool: int, space: int | None) -> list[int]:
        """Return the root space if a rule there about the tool decides in this space, too."""
        targets = {("tool", tool), ("integration", self.tools[tool].integration_id)}
        path = self._path(space)
        again = any(targets & self._allowed[ancestor.pk] for ancestor in path[:-1])
        return [ancestor.pk for ancestor in path[-1:] if ancestor.parent_id is None and not again]

    def _path(self, space: int | None) -> list[Space]:
        path: list[Space] = []
        current = self.spaces.get(space or 0)
        while current is not None and current not in path:
            path.append(current)
            above = self.spaces.get(current.parent_id or 0)
            current = above if above is not None and above.group_id == current.group_id else None
        return path


def _exposure(holdings: list[_Holding], facts: _Facts) -> Exposure:
    legs = {leg: frozenset(pk for item in holdings for pk in item.legs[leg]) for leg in LEGS}
    changes = {leg: _separation(leg, holdings, facts) for leg in LEGS}
    smallest = min(
        _SEPARATED_AT, key=lambda leg: (len(legs[leg]), len(changes[leg]), _SEPARATED_AT.index(leg))
    )
    everyone = any(item.user is None for item in holdings)
    at_root = any(_is_root(item, facts) for item in holdings)
    people = {facts.people[item.user].get_username() for item in holdings if item.user}
    return Exposure(
        group=next(item for item in facts.groups if item.pk == holdings[0].group),
        people=() if everyone else tuple(sorted(people)),
        spaces=()
        if at_root
        else tuple(
            sorted(
                {
                    facts.spaces[holding.space].name
                    for holding in holdings
                    if holding.space is not None
                }
            )
        ),
        legs={leg: _by_integration(legs[leg], facts) for leg in LEGS},
        separated_at=smallest,
        tools_changed=len(legs[smallest]),
        changes=changes[smallest],
    )


def _is_root(holding: _Holding, facts: _Facts) -> bool:
    return holding.space is None or facts.spaces[holding.space].parent_id is None


def _separation(leg: Leg, holdings: list[_Holding], facts: _Facts) -> tuple[Change, ...]:
    """Return rules after which every tool of the leg asks first wherever all three are held.

    A rule for everyone covers each person, and one in the root space covers those below, unless a
    rule in between allows the tool again.
    """
    ruled: dict[tuple[int | None, int | None, int], None] = {}
    order = sorted(
        holdings, key=lambda holding: (holding.user is not None, not _is_root(holding, facts))
    )
    for holding in order:
        for tool in sorted(holding.legs[leg], key=lambda pk: facts.tools[pk].full_name):
            places = [holding.space, *facts.covering(tool, holding.space)]
            subjects = dict.fromkeys((None, holding.user))
            if not any((place, user, tool) in ruled for place in places for user in subjects):
                ruled[holding.space, holding.user, tool] = None
    return tuple(
        Change(
            verb="rule",
            target=facts.tools[tool],
            user=facts.people[user] if user else None,
            space=facts.spaces[space],
            effect=Rule.Effect.PROPOSE,
        )
        for space, user, tool in ruled
        if space is not None
    )


def _by_integration(tools: Iterable[int], facts: _Facts) -> tuple[LegTools, ...]:
    by_title: dict[tuple[str, str], list[str]] = defaultdict(list)
    for tool in (facts.tools[pk] for pk in tools):
        by_title[tool.integration.title, tool.integration.slug].append(tool.full_name)
    return tuple(LegTools(*name, tuple(sorted(names))) for name, names in sorted(by_title.items()))
