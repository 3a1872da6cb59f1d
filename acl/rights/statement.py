"""The one answer to "what may this caller use", as SQL.

`docs/access.md` says in words what the rules mean. The statement is written by hand because its
plan matters: it reads rights and data in one snapshot, and stays quick where an ORM's correlated
subqueries take seconds. Which rule wins is not decided here: `precedence` puts that in.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from django.core.exceptions import EmptyResultSet
from django.db import models
from django.db.models.expressions import RawSQL

from acl.rights.caller_lookup import Caller
from acl.rights.precedence import (
    LIVE,
    MODE,
    PERMISSIONS,
    THEIRS,
    applies_sql,
    granted_sql,
    rank_sql,
    verdict_sql,
)


@dataclass(frozen=True, slots=True)
class RightsTables:
    """Names of the tables that `acl` must read and may not import."""

    integration: str
    capability: str
    rule: str
    integration_user: str
    integration_group: str
    capability_user: str
    capability_group: str
    # True where a call could be sent now, as SQL over `i`, an integration, and the parameter
    # `user`: acl does not know what integrations need.
    can_run: str
    # True where Pegboard carries out the calls of `i`, an integration, and of `c`, a capability,
    # whatever its integration: the others are only described.
    runs_here: str
    runs_itself: str
    # Ids of capabilities whose time is over, by the clock of the statement, as a query.
    ended: str


# Who asks, and the rules that speak about them. {user}, {group} and {space} are parameters, or the
# columns of an outer query that asks for one group after the other. An application that is gone
# makes nobody of its callers; `allowed` is NULL where nothing limits them.
_RULES = """
who AS MATERIALIZED (          -- no row: nobody, nothing
  SELECT u.id AS user_id, m.group_id, COALESCE(p.open_default, false) AS open_default,
         s.id AS space_id, NULLIF(a.integrations, ARRAY[]::bigint[]) AS allowed
  FROM auth_user u
  JOIN auth_user_groups m ON m.user_id = u.id AND m.group_id = {group}
  LEFT JOIN acl_grouppolicy p ON p.group_id = m.group_id
  LEFT JOIN acl_space s ON s.group_id = m.group_id
   AND CASE WHEN {space} IS NULL THEN s.parent_id IS NULL
            ELSE s.id = {space} END
  LEFT JOIN acl_application a ON a.id = {application}
  WHERE u.id = {user} AND u.is_active AND ({space} IS NULL OR s.id IS NOT NULL)
    AND ({application} IS NULL OR a.id IS NOT NULL)
),
path AS (                      -- the space and those above it; the bound stops a cycle
  SELECT s.id, s.group_id, s.parent_id, 0 AS distance
  FROM who JOIN acl_space s ON s.id = who.space_id
  UNION ALL
  SELECT p.id, p.group_id, p.parent_id, path.distance + 1
  FROM path JOIN acl_space p ON p.id = path.parent_id AND p.group_id = path.group_id
  WHERE path.distance < 32
),
hit AS MATERIALIZED (          -- every rule on the path that speaks about this caller
  SELECT r.integration_id, r.capability_id, {rank} AS rank{named}
  FROM who CROSS JOIN path JOIN {rule} r ON r.space_id = path.id
  WHERE ({applies}){about_asked}
),
integration_rule AS (
  SELECT integration_id AS id, min(rank) AS rank FROM hit
  WHERE integration_id IS NOT NULL GROUP BY 1
),
capability_rule AS (
  SELECT capability_id AS id, min(rank) AS rank FROM hit
  WHERE capability_id IS NOT NULL GROUP BY 1
)
"""
# Grants, the group's default, and the verdict about each integration.
_GROUNDS = """{permissions},{ended_ids},
integration_grant AS (
  SELECT g.content_object_id AS id FROM who JOIN {integration_group} g ON g.group_id = who.group_id
   AND g.permission_id = (SELECT id FROM permission WHERE codename = 'use_integration')
   {integration_asked}
  UNION
  SELECT g.content_object_id FROM who JOIN {integration_user} g ON g.user_id = who.user_id
   AND g.permission_id = (SELECT id FROM permission WHERE codename = 'use_integration')
   {integration_asked}
),
capability_grant AS (
  SELECT g.content_object_id AS id FROM who JOIN {capability_group} g ON g.group_id = who.group_id
   AND g.permission_id = (SELECT id FROM permission WHERE codename = 'use_capability')
   {capability_asked}
  UNION
  SELECT g.content_object_id FROM who JOIN {capability_user} g ON g.user_id = who.user_id
   AND g.permission_id = (SELECT id FROM permission WHERE codename = 'use_capability')
   {capability_asked}
),
live AS MATERIALIZED (         -- one row per live integration; verdict: 0 no, 1 asks first, 2 runs
  SELECT i.id, r.rank, d.granted, {runs_here} AS runs_here,
         {verdict_of_integration} AS verdict
  FROM who CROSS JOIN {integration} i
  LEFT JOIN integration_rule r ON r.id = i.id LEFT JOIN integration_grant g ON g.id = i.id
  CROSS JOIN LATERAL (
    SELECT {granted} AS granted) d
  WHERE {live} AND (who.allowed IS NULL OR i.id = ANY (who.allowed)){live_asked}
    AND (NOT %(connected)s::bool OR {can_run})
),
exception AS MATERIALIZED (    -- capabilities with a rule or a grant of their own
  SELECT id, min(rank) AS rank, bool_or(granted) AS granted
  FROM (SELECT id, rank, false AS granted FROM capability_rule
        UNION ALL SELECT id, NULL, true FROM capability_grant) x GROUP BY id
)"""
# The verdict about each capability. Ends in `usable(id, tokens, always, mode)`; mode is 1 for "asks
# first" and 2 for "runs", always marks core and pinned. Arrays, not joins, carry the sets: CTEs
# have no statistics, and an array is one index scan whatever the planner guesses.
_VERDICTS = """{grounds},
{decided},
usable AS MATERIALIZED (
  SELECT id, tokens, always, {mode} AS mode
  FROM decided
)
"""
# What a person may ask for: an admin marked the integration, and neither a rule nor a grant speaks
# about it or the capability. So a deny rule hides it, and what is usable is not asked for. Nobody
# can sign in as a program, so it asks for nothing.
_REQUESTABLE = """{grounds},
requestable AS MATERIALIZED (
  SELECT c.id, c.tokens FROM who CROSS JOIN {capability} c
  WHERE c.integration_id = ANY (ARRAY(
      SELECT l.id FROM live l JOIN {integration} i ON i.id = l.id
      WHERE i.requestable AND l.rank IS NULL AND NOT l.granted))
    AND c.id NOT IN (SELECT id FROM exception) AND {usable_at_all}
    AND NOT EXISTS (SELECT FROM acl_serviceaccount p WHERE p.user_id = who.user_id)
)
"""
# Several groups together: only what may be asked for in each of them, so a deny in one hides it,
# and so does the right to use it in one. A space has to be one of theirs.
_REQUESTABLE_TOGETHER = """
each AS MATERIALIZED (
  SELECT g.id AS group_id, s.id AS space_id
  FROM unnest(%(groups)s::bigint[]) AS g (id)
  LEFT JOIN acl_space s ON s.id = %(space)s::bigint AND s.group_id = g.id
),
requestable AS MATERIALIZED (
  SELECT answer.id, min(answer.tokens) AS tokens
  FROM each CROSS JOIN LATERAL (
    WITH RECURSIVE {answer} SELECT id, tokens FROM requestable
  ) answer
  WHERE %(space)s::bigint IS NULL OR EXISTS (SELECT FROM each WHERE space_id IS NOT NULL)
  GROUP BY answer.id HAVING count(*) = (SELECT count(*) FROM each)
)
"""
_DECIDED = """decided AS (
  SELECT c.id, c.tokens, c.ai_access, c.core OR c.pinned AS always, 2 AS verdict FROM {capability} c
  WHERE c.integration_id = ANY (ARRAY(SELECT id FROM live WHERE verdict = 2))
    AND c.id NOT IN (SELECT id FROM exception) AND {usable_at_all}
  UNION ALL
  SELECT c.id, c.tokens, c.ai_access, c.core OR c.pinned, 1 FROM {capability} c
  WHERE c.integration_id = ANY (ARRAY(SELECT id FROM live WHERE verdict = 1))
    AND c.id NOT IN (SELECT id FROM exception) AND {usable_at_all}
  UNION ALL
  SELECT c.id, c.tokens, c.ai_access, c.core OR c.pinned, v.verdict
  FROM exception x JOIN {capability} c ON c.id = x.id JOIN live l ON l.id = c.integration_id
  CROSS JOIN LATERAL (
    SELECT {verdict_of_exception} AS verdict) v
  WHERE v.verdict > 0 AND {usable_at_all}
)"""
# The same for the few ids in `asked`, which a statement that knows them puts before. `IS TRUE`
# makes Postgres probe hashed sets: a join would repeat one side for each row of the other.
_DECIDED_AMONG = """decided AS (
  SELECT c.id, c.tokens, c.ai_access, c.core OR c.pinned AS always,
         CASE WHEN c.integration_id IN (SELECT id FROM live WHERE verdict = 2) THEN 2 ELSE 1 END
           AS verdict
  FROM {capability} c
  WHERE c.id = ANY (ARRAY(SELECT id FROM asked))
    AND (c.integration_id IN (SELECT id FROM live WHERE verdict > 0)) IS TRUE
    AND c.id NOT IN (SELECT id FROM exception) AND {usable_at_all}
  UNION ALL
  SELECT c.id, c.tokens, c.ai_access, c.core OR c.pinned, v.verdict
  FROM exception x JOIN {capability} c ON c.id = x.id JOIN live l ON l.id = c.integration_id
  CROSS JOIN LATERAL (
    SELECT {verdict_of_exception} AS verdict) v
  WHERE (x.id IN (SELECT id FROM asked)) IS TRUE AND v.verdict > 0 AND {usable_at_all}
)"""
# The asked ids with their integrations, and what limits the grounds to these: without it, rights to
# one tool cost as much as those to all. Arrays, so that an index finds the few rows.
_ASKED_ROWS = """asked_rows AS MATERIALIZED (
  SELECT id, integration_id FROM {capability} WHERE id = ANY (ARRAY(SELECT id FROM asked))
)"""
_OF_ASKED = "ARRAY(SELECT integration_id FROM asked_rows)"
_NARROW = {
    "about_asked": f" AND (r.integration_id = ANY ({_OF_ASKED})"  # noqa: S608
    " OR r.capability_id = ANY (ARRAY(SELECT id FROM asked_rows)))",
    "integration_asked": f"AND g.content_object_id = ANY ({_OF_ASKED})",
    "capability_asked": "AND g.content_object_id = ANY (ARRAY(SELECT id FROM asked_rows))",
    "live_asked": f" AND i.id = ANY ({_OF_ASKED})",
}
# The same as a condition on a row, for a statement that reads rows in an order of its own.
_ALLOWED = """allowed AS MATERIALIZED (  -- the exceptions that may be used
  SELECT x.id
  FROM exception x JOIN {capability} c ON c.id = x.id JOIN live l ON l.id = c.integration_id
  CROSS JOIN LATERAL (SELECT {verdict_of_exception} AS verdict) v WHERE v.verdict > 0
)"""
_IS_USABLE = """(c.id IN (SELECT id FROM allowed)
      OR (c.integration_id IN (SELECT id FROM live WHERE verdict > 0)
          AND c.id NOT IN (SELECT id FROM exception)))
    AND {usable_at_all}"""
# Several groups together: each answers for itself, by the same text, and the answers are united.
# The rules of the space that was asked for come last: where one of them decides, it limits the
# answers of all groups, so a deny there holds whatever another group allows.
_UNITED = """
each AS MATERIALIZED (
  SELECT g.id AS group_id, g.place, s.id AS space_id
  FROM unnest(%(groups)s::bigint[]) WITH ORDINALITY AS g (id, place)
  LEFT JOIN acl_space s ON s.id = %(space)s::bigint AND s.group_id = g.id
),
{rules},
answers AS MATERIALIZED (
  SELECT each.group_id, each.place, answer.*
  FROM each CROSS JOIN LATERAL (
    WITH RECURSIVE {answer} SELECT id, tokens, always, mode FROM usable
  ) answer
),
together AS MATERIALIZED (
  SELECT id, min(tokens) AS tokens, bool_or(always) AS always, max(mode) AS mode,
         (array_agg(group_id ORDER BY mode DESC, place))[1] AS group_id, count(*) AS groups
  FROM answers
  WHERE %(space)s::bigint IS NULL OR EXISTS (SELECT 1 FROM who)
  GROUP BY id
),
usable AS MATERIALIZED (
  SELECT t.id, t.tokens, t.always, LEAST(t.mode, decided.verdict) AS mode, t.group_id, t.groups
  FROM together t JOIN {capability} c ON c.id = t.id
  LEFT JOIN capability_rule own ON own.id = t.id
  LEFT JOIN integration_rule whole ON whole.id = c.integration_id
  CROSS JOIN LATERAL (SELECT {verdict_of_space} AS verdict) decided
  WHERE decided.verdict > 0
)
"""
# In any space: the groups' root spaces, and each space that could add to the answer of the one
# above it. A space without a rule that allows adds nothing.
_IN_ANY_SPACE = """
each AS MATERIALIZED (
  SELECT g.id AS group_id, NULL::bigint AS space_id FROM unnest(%(groups)s::bigint[]) AS g (id)
  UNION ALL
  SELECT s.group_id, s.id FROM acl_space s
  WHERE s.group_id = ANY (%(groups)s::bigint[])
    AND s.id IN (SELECT space_id FROM {rule} WHERE effect > 0)
),
usable AS MATERIALIZED (
  SELECT DISTINCT answer.id
  FROM each CROSS JOIN LATERAL (WITH RECURSIVE {answer} SELECT id FROM usable) answer
)
"""
# Many members, each in a group and a space: one answer for each row of `each`, which stands before.
_OF_MEMBERS = """
usable AS MATERIALIZED (
  SELECT each.group_id, each.user_id, each.space_id, answer.id, answer.mode
  FROM each CROSS JOIN LATERAL (WITH RECURSIVE {answer} SELECT id, mode FROM usable) answer
)
"""
_APPLICATION = "%(application)s::bigint"
_ONE = {
    "user": "%(user)s::bigint",
    "group": "%(group)s::bigint",
    "space": "%(space)s::bigint",
    "application": _APPLICATION,
}
_EACH = {
    "user": "%(user)s::bigint",
    "group": "each.group_id",
    "space": "each.space_id",
    "application": _APPLICATION,
}
_MEMBER = {**_EACH, "user": "each.user_id"}
# Without a space nothing limits the groups: no group has the id 0.
_OF_THE_SPACE = {
    "user": "%(user)s::bigint",
    "group": "COALESCE((SELECT group_id FROM each WHERE space_id IS NOT NULL), 0)",
    "space": "%(space)s::bigint",
    "application": _APPLICATION,
}
_PRECEDENCE = {
    "rank": rank_sql(rule="r", distance="path.distance"),
    "applies": applies_sql(rule="r", user="who.user_id"),
    "granted": granted_sql(
        granted="g.id IS NOT NULL", is_open="who.open_default", restricted="i.restricted"
    ),
    "verdict_of_integration": verdict_sql(rank="r.rank", granted="d.granted"),
    "verdict_of_exception": verdict_sql(
        rank="LEAST(x.rank, l.rank)", granted="x.granted OR l.granted"
    ),
    # Where no rule of the space says anything, it limits nothing.
    "verdict_of_space": verdict_sql(rank="LEAST(own.rank, whole.rank)", granted="true"),
    "live": f"{LIVE} AND {THEIRS.format(integration='i', user='who.user_id')}",
    "mode": MODE,
}
# Neither a grant nor a rule brings these back.
_IN_A_STATE = (
    "(c.available OR %(unavailable)s::bool) AND c.state = '{}' AND c.ai_access {}"
    " AND (%(kind)s::text = '' OR c.kind = %(kind)s::text)"
    " AND c.id NOT IN (SELECT id FROM ended)"
)
# Few rows at any time: a sweep switches them off for good.
_ENDED = """
ended (id) AS MATERIALIZED (
  {ended}
)"""
# What Pegboard only describes is left out where nobody would carry it out.
_CARRIED_OUT = (
    " AND (NOT %(only_here)s::bool OR {runs_itself}"
    " OR c.integration_id = ANY (ARRAY(SELECT id FROM live WHERE runs_here)))"
)
# What its server shows to its own app only is no model's; the app calls it by its person's rights.
_FOR_MODELS, _FOR_APPS = "NOT IN ('blocked', 'app')", "<> 'blocked'"
USABLE_AT_ALL = _IN_A_STATE.format("approved", _FOR_MODELS)
_USABLE_BY_APPS = _IN_A_STATE.format("approved", _FOR_APPS)
_USABLE_BUT_KEPT_OUT = _IN_A_STATE.format("quarantined", _FOR_MODELS)


def rights_sql(
    tables: RightsTables,
    *,
    united: bool = False,
    with_rules: bool = False,
    kept_out: bool = False,
    among: bool = False,
    whole: bool = False,
    apps: bool = False,
) -> str:
    """Return the common table expressions that end in `usable`, to follow `WITH RECURSIVE`.

    `united` asks in several groups together, for callers that are; then `usable` also has the
    `group_id` that gives each, and the number of `groups` that do. `with_rules` adds to `hit` which
    rule it was and how far away, for those who explain an answer. `kept_out` asks instead for what
    the caller could use if it were not in quarantine: to say of a name that it waits, never to use
    it.
    `among` limits `usable` to the ids of an expression `asked`, which stands before, and all else
    to what those need; `whole` leaves what decides as it is, for conditions on further rows.
    `apps` adds what only a server's own app may call: for its calls, never for a model's choice.
    """
    usable = _USABLE_BY_APPS if apps else USABLE_AT_ALL
    in_the_state = _USABLE_BUT_KEPT_OUT if kept_out else usable
    names = _parts(tables, narrow=among and not whole) | {
        "named": ", r.id AS rule_id, path.distance" if with_rules else "",
        "usable_at_all": in_the_state + _CARRIED_OUT.format(runs_itself=tables.runs_itself),
    }
    names["decided"] = (_DECIDED_AMONG if among else _DECIDED).format(**names)
    answer = f"{_RULES.rstrip()},{_VERDICTS}"
    narrowing = f"{_ASKED_ROWS.format(**names)},\n" if among else ""
    if not united:
        return narrowing + answer.format(**_ONE, **names)
    return narrowing + _UNITED.format(
        rules=_RULES.format(**_OF_THE_SPACE, **names),
        answer=answer.format(**_EACH, **names),
        **names,
    )


class RowRights(NamedTuple):
    """Rights as a condition on a row `c` of capabilities, and the expression that it needs."""

    expression: str
    condition: str


def row_rights_sql(tables: RightsTables) -> RowRights:
    """Return what is true of the rows of `usable`, to stand beside `rights_sql` for one group.

    For a statement that reads rows in an order of its own until it has enough of them.
    """
    in_the_state = USABLE_AT_ALL + _CARRIED_OUT.format(runs_itself=tables.runs_itself)
    names = _parts(tables) | {"usable_at_all": in_the_state}
    return RowRights(_ALLOWED.format(**names), _IS_USABLE.format(**names))


def reachable_sql(tables: RightsTables) -> str:
    """Return the common table expressions that end in `usable (id)`, of all groups and spaces.

    For what belongs to a person and to no space, such as their secrets; never to use a tool.
    """
    names = _parts(tables) | {"named": "", "usable_at_all": USABLE_AT_ALL}
    names["decided"] = _DECIDED.format(**names)
    answer = f"{_RULES.rstrip()},{_VERDICTS}".format(**_EACH, **names)
    return _IN_ANY_SPACE.format(answer=answer, rule=tables.rule)


def members_sql(tables: RightsTables) -> str:
    """Return the expressions that end in `usable (group_id, user_id, space_id, id, mode)`.

    One answer for each row of `each (group_id, user_id, space_id)`, about the ids in `asked`; both
    stand before. For admins who compare groups; never to use a tool.
    """
    names = _parts(tables, narrow=True) | {"named": "", "usable_at_all": USABLE_AT_ALL}
    names["decided"] = _DECIDED_AMONG.format(**names)
    answer = f"{_RULES.rstrip()},{_VERDICTS}".format(**_MEMBER, **names)
    return f"{_ASKED_ROWS.format(**names)},{_OF_MEMBERS.format(answer=answer)}"


def requestable_sql(tables: RightsTables, *, united: bool = False) -> str:
    """Return the common table expressions that end in `requestable (id, tokens)`.

    For offers of help where nothing fits, which name the tool and its integration; never to use or
    describe a tool.
    """
    usable_at_all = USABLE_AT_ALL + _CARRIED_OUT.format(runs_itself=tables.runs_itself)
    names = _parts(tables) | {"named": "", "usable_at_all": usable_at_all}
    answer = f"{_RULES.rstrip()},{_REQUESTABLE}"
    if not united:
        return answer.format(**_ONE, **names)
    return _REQUESTABLE_TOGETHER.format(answer=answer.format(**_EACH, **names))


def _parts(tables: RightsTables, *, narrow: bool = False) -> dict[str, str]:
    parts = {
        **_PRECEDENCE,
        **{name: text if narrow else "" for name, text in _NARROW.items()},
        **names_in(tables),
        "permissions": PERMISSIONS.format(**names_in(tables)),
        "ended_ids": ended_sql(tables),
    }
    return parts | {"grounds": _GROUNDS.format(**parts)}


def ended_sql(tables: RightsTables) -> str:
    """Return the common table expression `ended`, which `USABLE_AT_ALL` asks."""
    return _ENDED.format(ended=tables.ended)


def names_in(tables: RightsTables) -> dict[str, str]:
    """Return the names, to be put into a statement."""
    return {name: getattr(tables, name) for name in RightsTables.__slots__}


def rights_parameters(
    caller: Caller,
    *,
    unavailable: bool = False,
    kind: str = "",
    connected: bool = False,
    only_here: bool = False,
) -> dict[str, Any]:
    """Return the parameters of `rights_sql`.

    `unavailable` keeps what is not available, for pages that say why; `connected` leaves out what
    could not be called now, for want of a connection, a secret or an account; `only_here` what
    Pegboard describes and does not carry out.
    """
    return {
        "user": caller.user_id,
        "group": caller.group_id,
        "groups": list(caller.group_ids),
        "space": caller.space_id,
        "application": caller.application_id,
        "unavailable": unavailable,
        "kind": kind,
        "connected": connected,
        "only_here": only_here,
    }


class UsableQuerySet(models.QuerySet):
    """A queryset of capabilities whose every read starts from the caller."""

    def rights_tables(self) -> RightsTables:
        """The tables of the concrete app."""
        raise TypeError(f"{type(self).__name__} does not name its tables")

    def usable_by(
        self,
        caller: Caller,
        *,
        unavailable: bool = False,
        among: "UsableQuerySet | None" = None,
        apps: bool = False,
    ) -> Self:
        """Only what `caller` may use; with `apps` also what only a server's own app may call.

        `among` are the rows that can matter, however they are chosen: then the rights to these
        alone are worked out, which costs a tenth.
        """
        tables = self.rights_tables()
        if among is None:
            rights = rights_sql(tables, united=caller.is_united, apps=apps)
            return self.filter(pk__in=self._usable(rights, caller, unavailable=unavailable))
        try:
            chosen = among.order_by().values("pk").query.sql_with_params()
        except EmptyResultSet:
            return self.none()
        rights = rights_sql(tables, united=caller.is_united, among=True, apps=apps)
        return self.filter(
            pk__in=self._usable(rights, caller, unavailable=unavailable, chosen=chosen)
        )

    def reachable_by(self, caller: Caller, *, unavailable: bool = False) -> Self:
        """Only what `caller` may use in any space of the groups, for what is theirs everywhere."""
        rights = reachable_sql(self.rights_tables())
        return self.filter(pk__in=self._usable(rights, caller, unavailable=unavailable))

    @staticmethod
    def _usable(
        rights: str,
        caller: Caller,
        *,
        unavailable: bool,
        chosen: tuple[str, Sequence[Any]] | None = None,
    ) -> RawSQL:
        """Return the ids as a subquery. It does not look at the row outside, so it runs once."""
        # The names in it are our own.
        statement = f"{rights} SELECT id FROM usable"  # noqa: S608
        # The same statement with %s, which is all that RawSQL takes.
        parameters = rights_parameters(caller, unavailable=unavailable)
        order = re.findall(r"%\((\w+)\)s", statement)
        sql, values = re.sub(r"%\(\w+\)s", "%s", statement), [parameters[name] for name in order]
        before = f"asked (id) AS MATERIALIZED ({chosen[0]}), " if chosen else ""
        values = [*chosen[1], *values] if chosen else values
        # Every value is a parameter.
        return RawSQL(f"WITH RECURSIVE {before}{sql}", values)  # noqa: S611
