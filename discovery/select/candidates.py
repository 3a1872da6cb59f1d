"""Candidates for a message, in one SQL statement.

It finds what the caller may use near the message in meaning or words, the dependencies and
relations of the best candidates, and the group's experiences with similar messages. It is prepared
once per connection, and returns the definitions too, since a second round trip would cost more than
the bytes.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Any, Literal

from acl.platform.database_connections import Table, table_of
from acl.platform.read_replica import read_replica
from acl.rights.statement import requestable_sql, rights_sql
from catalog.embedding.vector_index import VectorIndex
from catalog.models.relation import PULLS_IN_SOURCE, PULLS_IN_TARGET, sql_names
from catalog.querysets import TABLES
from catalog.relations.neighbours import FOR_THE_GROUP, LARGEST_CATEGORY, MOST_WITH_A_TAG
from catalog.search_index.rows import FEWEST_TOOLS, MOST_TOOLS
from discovery.learning import memory
from discovery.learning.memory import PastCall, VoteGains
from discovery.select._candidate_rows import (
    JOINED_ROWS,
    MODEL,
    Candidate,
    CandidateQuery,
    Candidates,
    columns_sql,
    row_reader,
)
from discovery.select._nearest_rows import KnownTotals, Unanswered, known_totals_sql, nearest_sql
from discovery.select.ranking.fusion import FEWEST_OF_SEVERAL
from discovery.select.ranking.relation_gains import RankedRelation, relations_by_shared

# Candidates per arm, for one text and for several. Fewer lose right answers on labelled sets; more
# cost time and gain nothing.
NEAREST, NEAREST_OF_SEVERAL = 40, 60
# Relations are read only for the best of each arm, since only they can be selected, with a limit of
# neighbours for each.
FOREMOST, FOREMOST_OF_SEVERAL, BESIDE_EACH = 6, 12, 4
# What a statement searches among.
Among = Literal["usable", "unheld", "requestable"]


def find_candidates(query: CandidateQuery) -> Candidates:
    """Find the best candidates by meaning and by words among what the caller may use."""
    return _candidates(*_read(query, query.parameters()))


def find_among_nearest(query: CandidateQuery, totals: KnownTotals) -> Candidates | Unanswered:
    """Find them among the nearest by an index on vectors, where the caller may use most of all."""
    columns, rows = _read(query, {**query.parameters(), **totals.parameters()}, totals.index)
    # Without an answer a replica sends a row of its own, with nothing in these columns.
    usable = rows[0][columns.index("usable")] if rows else None
    return Unanswered.reason(usable) or _candidates(columns, rows)


def _read(
    query: CandidateQuery, parameters: Mapping[str, Any], index: VectorIndex | None = None
) -> Table:
    shape = (*_counts(query), query.use_graph, query.experiences)
    statement = _statement(*shape, united=query.caller.is_united, index=index)
    lagging = read_replica.table_of(statement, parameters) if query.may_lag else None
    return lagging or table_of(statement, parameters)


def find_unheld(query: CandidateQuery) -> Candidates:
    """Find the best candidates among what the caller may not use. Only admins may see them."""
    return _find_among("unheld", query)


def find_requestable(query: CandidateQuery) -> Candidates:
    """Find the best candidates among what the caller may ask for. They may see the names alone."""
    return _find_among("requestable", query)


def _find_among(among: Among, query: CandidateQuery) -> Candidates:
    statement = _statement(*_counts(query), False, 0, united=query.caller.is_united, among=among)
    return _candidates(*table_of(statement, query.parameters()))


def _counts(query: CandidateQuery) -> tuple[int, int, int]:
    abilities = 0 if query.abilities is None else len(query.abilities)
    return query.vector_count, len(query.words), abilities


def _candidates(columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> Candidates:
    reader = row_reader(columns)
    usable, tokens = reader.totals(rows[0]) if rows and reader.totals else (0, 0)
    hits: list[Candidate] = []
    outside: list[Candidate] = []
    relations: list[RankedRelation] = []
    experiences: list[PastCall] = []
    checked = VoteGains()
    names: dict[int, list[str]] = {}
    servers: dict[int, tuple[float, ...]] = {}
    abilities: list[list[float]] = []
    for row in rows:
        if row[reader.key] is None:  # the totals alone: nothing was found
            break
        candidate = Candidate._make(reader.candidate(row))
        is_hit = True
        if reader.related:
            is_hit, targets, kinds, weights, shared = reader.related(row)
            if targets:
                relations += map(RankedRelation, repeat(candidate.pk), targets, kinds, weights)
            if shared:
                names[candidate.pk] = shared
        (hits if is_hit else outside).append(candidate)
        if is_hit and reader.server and (cosines := reader.server(row)):
            servers[candidate.pk] = tuple(cosines)
        if is_hit and reader.abilities and (cosines := reader.abilities(row)):
            abilities.append(cosines)
        if reader.experiences:
            *calls, gains, squares = reader.experiences(row)
            checked = VoteGains(gains, squares) if gains else checked
            if calls[0]:
                experiences += map(PastCall, repeat(candidate.pk), *calls)
    stored = {(relation.source, relation.target, relation.kind) for relation in relations}
    relations += [relation for relation in relations_by_shared(names) if relation[:3] not in stored]
    embedded = any(cosine is not None for candidate in hits for cosine in candidate.cosines)
    return Candidates(
        hits,
        usable,
        int(tokens or 0),
        embedded,
        outside,
        relations,
        experiences,
        checked,
        servers,
        [max(column) for column in zip(*abilities, strict=True)],
    )


@lru_cache(maxsize=32)
def _statement(
    vectors: int,
    texts: int,
    abilities: int,
    use_graph: bool,
    experiences: int,
    *,
    united: bool,
    among: Among = "usable",
    index: VectorIndex | None = None,
) -> str:
    """Build the statement; the text is the same for the same arguments, so it is prepared once."""
    limit = NEAREST if texts == 1 else NEAREST_OF_SEVERAL
    by_server = vectors >= FEWEST_OF_SEVERAL and index is None
    distances = [f"e.vector <=> %(v{i})s::vector" for i in range(vectors)]
    near = _NEAR.format(
        distance=distances[0] if len(distances) == 1 else f"LEAST({', '.join(distances)})",
        limit=limit,
    )
    worded = _WORDED.format(limit=limit)
    arms = [near, worded] if vectors else [worded]
    checked = memory.CHECKED if experiences else ""
    if experiences:
        arms.append(memory.memory_ctes(experiences))
    return _STATEMENT.format(
        rights=nearest_sql(index, vectors, experiences=experiences)
        if index
        else _RIGHTS[among](united=united),
        model=MODEL,
        columns=columns_sql(vectors, texts, abilities),
        joined_rows=JOINED_ROWS,
        arms=",\n".join(arms),
        near="UNION SELECT id FROM near" if vectors else "",
        called=memory.HITS if experiences else "",
        experiences=memory.COLUMNS if experiences else "",
        totals=known_totals_sql(vectors, checked=checked)
        if index
        else _TOTALS.format(checked=checked),
        graph=_graph(vectors, texts, counts=index is None) if use_graph else "",
        means=_MEANS.format(fewest=FEWEST_TOOLS, most=MOST_TOOLS) if by_server else "",
        server=_server(vectors) if by_server else "",
        shown="shown" if use_graph else "hits",
        related=_RELATED if use_graph else "",
        joined=(memory.JOINED if experiences else "")
        + (_JOINED if use_graph else "")
        + (_MEANT if by_server else ""),
    )


def _usable(*, united: bool) -> str:
    """Return the sets of rights, which end in `usable`."""
    return rights_sql(TABLES, united=united)


def _requestable(*, united: bool) -> str:
    """Return the sets of rights; `usable` is what the caller may not use, and may ask for."""
    return f"{requestable_sql(TABLES, united=united)}, {_ASKED_FOR}"


def _unheld(*, united: bool) -> str:
    """Return the sets of rights; `usable` is all that works and that the caller may not use."""
    held = rights_sql(TABLES, united=united).replace("usable AS MATER", "held AS MATER")
    return f"{held}, {_OUTSIDE}"


_RIGHTS: dict[Among, Callable[..., str]] = {
    "usable": _usable,
    "unheld": _unheld,
    "requestable": _requestable,
}


def _graph(vectors: int, texts: int, *, counts: bool) -> str:
    """Return the expressions about relations; without `counts`, none by a shared name."""
    foremost = FOREMOST if texts == 1 else FOREMOST_OF_SEVERAL
    return _GRAPH.format(
        by_meaning=_FOREMOST_BY_MEANING.format(foremost=foremost) if vectors else "",
        foremost=foremost,
        beside_each=BESIDE_EACH,
        most_with_a_tag=MOST_WITH_A_TAG.format(usable="(SELECT usable FROM totals)")
        if counts
        else "0",
        largest_category=LARGEST_CATEGORY if counts else 0,
        for_the_group=FOR_THE_GROUP,
        pulls_in_target=sql_names(PULLS_IN_TARGET),
        pulls_in_source=sql_names(PULLS_IN_SOURCE),
    )


def _server(vectors: int) -> str:
    cosines = ", ".join(f"1 - (mean.vector <=> %(v{i})s::vector)" for i in range(vectors))
    return f""",
       CASE WHEN vector_norm(mean.vector) > 0 THEN ARRAY[{cosines}]::float8[] END AS server"""


_ASKED_FOR = """usable AS MATERIALIZED (
  SELECT id, tokens, false AS always, 2 AS mode FROM requestable
)"""
_OUTSIDE = """usable AS MATERIALIZED (
  SELECT c.id, c.tokens, false AS always, 2 AS mode
  FROM catalog_capability c JOIN catalog_integration i ON i.id = c.integration_id
  WHERE c.state = 'approved' AND c.available AND c.ai_access NOT IN ('blocked', 'app')
    AND i.state = 'approved' AND i.enabled AND c.id NOT IN (SELECT id FROM held)
)"""
_NEAR = """near AS (
  SELECT e.capability_id AS id, {distance} AS distance
  FROM catalog_embedding e
  WHERE e.model_id = (SELECT id FROM model) AND e.vector IS NOT NULL
    AND e.capability_id = ANY (ARRAY(SELECT id FROM usable))
  ORDER BY distance LIMIT {limit}
)"""
_WORDED = """worded AS (
  SELECT id, score FROM (
    SELECT l.capability_id AS id, l.terms <#> %(t0)s::sparsevec AS score
    FROM catalog_lexicalvector l
    WHERE l.capability_id = ANY (ARRAY(SELECT id FROM usable)) OFFSET 0) x
  WHERE score < 0 ORDER BY score LIMIT {limit}
)"""
_TOTALS = "count(*) AS usable, sum(tokens) AS tokens{checked} FROM usable"
# The totals are joined first, so that there is a row even if nothing is found.
_STATEMENT = """WITH RECURSIVE {rights},
{model},
{arms},
named AS (
  SELECT c.id FROM catalog_capability c
  WHERE c.full_name = ANY (%(names)s::text[]) AND c.id IN (SELECT id FROM usable)
),
hits AS MATERIALIZED (
  SELECT id FROM worded {near} UNION SELECT id FROM named UNION SELECT id FROM usable WHERE always
  {called}
),
totals AS (SELECT {totals}){graph}{means}
SELECT totals.usable, totals.tokens AS usable_tokens, {columns}{related}{experiences}{server}
FROM totals LEFT JOIN ({shown} JOIN catalog_capability c ON c.id = {shown}.id
  {joined_rows}{joined}) ON true
"""
# The means of the hits' servers are made from what the caller may use, so that nothing hidden moves
# a rank. `IS TRUE` makes Postgres read those servers' rows and probe the set, instead of all rows.
_MEANS = """,
mean AS MATERIALIZED (
  SELECT c.integration_id, avg(l2_normalize(e.vector)) AS vector
  FROM catalog_capability c
  JOIN catalog_embedding e ON e.capability_id = c.id AND e.model_id = (SELECT id FROM model)
  WHERE c.integration_id = ANY (ARRAY(
      SELECT DISTINCT integration_id FROM catalog_capability
      WHERE id = ANY (ARRAY(SELECT id FROM hits))))
    AND (c.id IN (SELECT id FROM usable)) IS TRUE AND e.vector IS NOT NULL
  GROUP BY c.integration_id HAVING count(*) BETWEEN {fewest} AND {most}
)"""
_MEANT = """
  LEFT JOIN mean ON mean.integration_id = c.integration_id"""
_RELATED = """,
       c.id IN (SELECT id FROM hits) AS is_hit, relation.targets, relation.kinds, relation.weights,
       counting.names"""
_JOINED = """
  LEFT JOIN relation ON relation.id = c.id LEFT JOIN counting ON counting.id = c.id"""
_FOREMOST_BY_MEANING = "UNION (SELECT id FROM near ORDER BY distance LIMIT {foremost})"
# All sets are restricted to what the caller may use, including the counts of who shares a name.
# Each set is joined once: a subquery per row would scan `usable` again and again.
_GRAPH = """,
foremost AS MATERIALIZED (
  SELECT id FROM named UNION (SELECT id FROM worded ORDER BY score LIMIT {foremost})
  {by_meaning}
),
beside AS (
  SELECT id, row_number() OVER (
    PARTITION BY parent ORDER BY weight DESC, kind DESC, id) AS place
  FROM (
    SELECT source_id AS parent, target_id AS id, kind, weight FROM catalog_edge
    WHERE source_id = ANY (ARRAY(SELECT id FROM foremost))
      AND kind IN ({pulls_in_target}) AND {for_the_group}
    UNION ALL
    SELECT target_id, source_id, kind, weight FROM catalog_edge
    WHERE target_id = ANY (ARRAY(SELECT id FROM foremost)) AND kind IN ({pulls_in_source})
      AND {for_the_group}) other
  WHERE id IN (SELECT id FROM usable)
),
around AS MATERIALIZED (
  SELECT id FROM foremost UNION SELECT id FROM beside WHERE place <= {beside_each}
),
shown AS MATERIALIZED (SELECT id FROM hits UNION SELECT id FROM around),
relation AS MATERIALIZED (
  SELECT source_id AS id, array_agg(target_id) AS targets, array_agg(kind::text) AS kinds,
         array_agg(weight) AS weights
  FROM (
    SELECT DISTINCT ON (source_id, target_id, kind) source_id, target_id, kind, weight
    FROM catalog_edge
    WHERE source_id = ANY (ARRAY(SELECT id FROM around)) AND target_id IN (SELECT id FROM shown)
      AND {for_the_group}
    ORDER BY source_id, target_id, kind, group_id IS NULL, origin = 'admin' DESC, weight DESC
  ) strongest
  GROUP BY source_id
),
shared AS MATERIALIZED (
  SELECT name, array_agg(capability_id) AS ids,
         CASE WHEN name LIKE '#%%' THEN {most_with_a_tag} ELSE {largest_category} END AS most
  FROM catalog_trait WHERE capability_id = ANY (ARRAY(SELECT id FROM foremost))
  GROUP BY name HAVING count(*) > 1
),
holder AS MATERIALIZED (
  SELECT name, count(*) AS number FROM catalog_trait
  WHERE name = ANY (ARRAY(SELECT name FROM shared WHERE cardinality(ids) <= most))
    AND capability_id IN (SELECT id FROM usable)
  GROUP BY name
),
counting AS MATERIALIZED (
  SELECT member.id, array_agg(shared.name::text) AS names
  FROM shared JOIN holder ON holder.name = shared.name AND holder.number <= shared.most
  CROSS JOIN unnest(shared.ids) member (id)
  GROUP BY member.id
)"""
