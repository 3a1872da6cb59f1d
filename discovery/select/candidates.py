"""Candidates for a message, in one SQL statement.

It finds what the caller may use near the message in meaning or words, the dependencies and
relations of the best candidates, and the group's experiences with similar messages. It is prepared
once per connection, and returns the definitions too, since a second round trip would cost more than
the bytes.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import repeat
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from django.conf import settings
from pgvector import HalfVector, SparseVector, Vector

from acl.platform.prepared_statements import BinaryValue, table_of
from acl.rights.caller import Caller
from acl.rights.rights_statement import rights_parameters, rights_sql
from catalog.embedding.embedder import Vectors
from catalog.graph.neighbours import FOR_THE_GROUP, LARGEST_CATEGORY, MOST_WITH_A_TAG
from catalog.lexical import DIMENSIONS
from catalog.querysets import TABLES
from catalog.readiness.facts import (
    COLUMNS,
    MODE_OF_ROW,
    facts_parameters,
    facts_sql,
    readiness_from,
)
from catalog.readiness.mend_links import MendLink, mend_link
from catalog.readiness.readiness import ToolReadiness
from catalog.trust.reviewed_texts import ReviewedSchema, ReviewedText
from discovery.learning import memory
from discovery.learning.past_use import PastCall, VoteGains
from discovery.select.ranking.relation_gains import Link, links_by_shared

# Candidates per arm, for one text and for several. Fewer lose right answers on labelled sets; more
# cost time and gain nothing.
NEAREST, NEAREST_OF_SEVERAL = 40, 60
# Relations are read only for the best of each arm, since only they can be selected, with a limit of
# neighbours for each.
FOREMOST, FOREMOST_OF_SEVERAL, BESIDE_EACH = 6, 12, 4
_facts_of = attrgetter(*COLUMNS)


class Candidate(NamedTuple):
    """A competing capability, with cosines and word scores for the message and its clauses.

    Each field is a column of the statement with the same name.
    """

    pk: int
    identifier: str
    full_name: str
    kind: str
    action: str
    integration: str
    display_name: ReviewedText
    description: ReviewedText
    category: str
    tags: list[str]
    schema: str | None  # JSON, parsed only if selected
    side_effect: str
    effect_flags: list[str]
    core: bool
    pinned: bool
    tokens: int
    fingerprint: str
    asks_first: bool
    obstacle: int
    runs_here: bool
    failing_since: datetime | None
    for_staff: bool
    cosines: list[float | None]
    words: list[float]

    @property
    def readiness(self) -> ToolReadiness:
        """Return what a call would do now."""
        return readiness_from(_facts_of(self))

    @property
    def input_schema(self) -> ReviewedSchema | None:
        """Return the JSON schema of the arguments."""
        return ReviewedSchema(json.loads(self.schema)) if self.schema else None

    @property
    def mend(self) -> MendLink | None:
        """Return the link that mends its readiness, or None."""
        return mend_link(self.readiness, integration=self.integration, full_name=self.full_name)


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates, and the number and tokens of everything that the caller may use."""

    found: list[Candidate]
    usable: int
    tokens: int
    embedded: bool  # True if any candidate has a vector
    # Dependencies and companions of the hits that are no hits themselves.
    outside: list[Candidate]
    links: list[Link]  # among all of these, by primary key
    # Calls of these for the most similar messages, and the gains by earlier votes.
    experiences: list[PastCall]
    checked: VoteGains


def find_candidates(
    *,
    caller: Caller,
    model: str,
    vectors: Vectors | None,
    words: Sequence[dict[int, float]],
    names: Iterable[str] = (),
    kind: str = "",
    unavailable: bool = False,
    connected: bool = False,
    use_graph: bool = False,
    use_experience: bool = False,
) -> Candidates:
    """Find the best candidates by meaning and by words among what `caller` may use.

    `vectors` has a row for the message and one for each clause, by `model`; None means words alone.
    `words` has a lexical query for the same texts. `names` are full names that the message contains
    literally. `use_experience` needs vectors.
    """
    count = 0 if vectors is None else len(vectors)
    most = settings.PEGBOARD_LEARNING_MOST if use_experience and count else 0
    parameters = {
        **rights_parameters(caller, unavailable=unavailable, kind=kind, connected=connected),
        **facts_parameters(),
        "model": model,
        "names": list(names),
        **{
            f"v{i}": BinaryValue(Vector(vectors[i]).to_binary())
            for i in range(count)
            if vectors is not None
        },
        **{
            f"t{i}": BinaryValue(SparseVector(query, DIMENSIONS).to_binary())
            for i, query in enumerate(words)
        },
    }
    if most and vectors is not None:
        parameters["h0"] = BinaryValue(HalfVector(vectors[0]).to_binary())
    shape = (count, len(words), use_graph, most)
    columns, rows = table_of(_statement(*shape, united=caller.is_united), parameters)
    return _candidates(_reader(columns), rows)


class _Reader(NamedTuple):
    """Readers of the parts of a row; None for parts that the statement does not have."""

    key: int
    totals: Callable[[Any], tuple[int, int | None]]
    candidate: Callable[[Any], tuple[Any, ...]]
    related: Callable[[Any], tuple[Any, ...]] | None
    experiences: Callable[[Any], tuple[Any, ...]] | None


@lru_cache(maxsize=32)
def _reader(columns: tuple[str, ...]) -> _Reader:
    """Return the reader for rows with these columns, whatever their order."""

    def of(names: Sequence[str]) -> Any:
        return itemgetter(*map(columns.index, names)) if names[0] in columns else None

    key = columns.index("pk")
    return _Reader(key, of(_TOTALS), of(Candidate._fields), of(_RELATIONS), of(memory.NAMES))


def _candidates(reader: _Reader, rows: Sequence[tuple[Any, ...]]) -> Candidates:
    usable, tokens = reader.totals(rows[0]) if rows else (0, 0)
    found: list[Candidate] = []
    outside: list[Candidate] = []
    links: list[Link] = []
    experiences: list[PastCall] = []
    checked = VoteGains()
    names: dict[int, list[str]] = {}
    for row in rows:
        if row[reader.key] is None:  # the totals alone: nothing was found
            break
        candidate = Candidate._make(reader.candidate(row))
        if reader.related:
            is_hit, targets, kinds, weights, shared = reader.related(row)
            (found if is_hit else outside).append(candidate)
            if targets:
                links += map(Link, repeat(candidate.pk), targets, kinds, weights)
            if shared:
                names[candidate.pk] = shared
        else:
            found.append(candidate)
        if reader.experiences:
            turns, likenesses, worths, gains, squares = reader.experiences(row)
            checked = VoteGains(gains, squares) if gains else checked
            if turns:
                experiences += map(PastCall, repeat(candidate.pk), turns, likenesses, worths)
    stored = {(link.source, link.target, link.kind) for link in links}
    links += [link for link in links_by_shared(names) if link[:3] not in stored]
    embedded = any(cosine is not None for candidate in found for cosine in candidate.cosines)
    return Candidates(
        found, usable, int(tokens or 0), embedded, outside, links, experiences, checked
    )


@lru_cache(maxsize=32)
def _statement(vectors: int, texts: int, use_graph: bool, experiences: int, *, united: bool) -> str:
    """Build the statement; the text is the same for the same arguments, so it is prepared once."""
    limit = NEAREST if texts == 1 else NEAREST_OF_SEVERAL
    near = _NEAR.format(
        distance=_smallest([f"e.vector <=> %(v{i})s::vector" for i in range(vectors)]), limit=limit
    )
    worded = _WORDED.format(limit=limit)
    arms = [near, worded] if vectors else [worded]
    if experiences:
        arms.append(memory.memory_ctes(experiences))
    return _STATEMENT.format(
        rights=rights_sql(TABLES, united=united),
        readiness=facts_sql(mode=MODE_OF_ROW),
        arms=",\n".join(arms),
        near="UNION SELECT id FROM near" if vectors else "",
        cosines=", ".join(f"1 - (e.vector <=> %(v{i})s::vector)" for i in range(vectors)),
        words=", ".join(f"-(l.terms <#> %(t{i})s::sparsevec)" for i in range(texts)),
        called=memory.HITS if experiences else "",
        checked=memory.CHECKED if experiences else "",
        experiences=memory.COLUMNS if experiences else "",
        graph=_graph(vectors, texts) if use_graph else "",
        shown="shown" if use_graph else "hits",
        related=_RELATED if use_graph else "",
        joined=(memory.JOINED if experiences else "") + (_JOINED if use_graph else ""),
    )


def _graph(vectors: int, texts: int) -> str:
    foremost = FOREMOST if texts == 1 else FOREMOST_OF_SEVERAL
    return _GRAPH.format(
        by_meaning=_FOREMOST_BY_MEANING.format(foremost=foremost) if vectors else "",
        foremost=foremost,
        beside_each=BESIDE_EACH,
        most_with_a_tag=MOST_WITH_A_TAG.format(usable="(SELECT usable FROM totals)"),
        largest_category=LARGEST_CATEGORY,
        for_the_group=FOR_THE_GROUP,
    )


def _smallest(distances: list[str]) -> str:
    return distances[0] if len(distances) == 1 else f"LEAST({', '.join(distances)})"


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
# The totals are joined first, so that there is a row even if nothing is found.
_STATEMENT = """WITH RECURSIVE {rights},
model AS MATERIALIZED (SELECT id FROM catalog_embeddingmodel WHERE name = %(model)s::text),
{arms},
named AS (
  SELECT c.id FROM catalog_capability c
  WHERE c.full_name = ANY (%(names)s::text[]) AND c.id IN (SELECT id FROM usable)
),
hits AS MATERIALIZED (
  SELECT id FROM worded {near} UNION SELECT id FROM named UNION SELECT id FROM usable WHERE always
  {called}
),
totals AS (SELECT count(*) AS usable, sum(tokens) AS tokens{checked} FROM usable){graph}
SELECT totals.usable, totals.tokens AS usable_tokens, c.id AS pk, c.identifier, c.full_name, c.kind,
       c.action, i.slug AS integration, c.display_name, c.description, c.category, c.tags,
       c.input_schema::text AS schema, c.side_effect, c.effect_flags, c.core, c.pinned, c.tokens,
       c.fingerprint, {readiness},
       ARRAY[{cosines}]::float8[] AS cosines,
       ARRAY[{words}]::float8[] AS words{related}{experiences}
FROM totals LEFT JOIN ({shown} JOIN catalog_capability c ON c.id = {shown}.id
  JOIN catalog_integration i ON i.id = c.integration_id
  LEFT JOIN catalog_embedding e ON e.capability_id = c.id AND e.model_id = (SELECT id FROM model)
  LEFT JOIN catalog_lexicalvector l ON l.capability_id = c.id{joined}) ON true
"""
_TOTALS = ("usable", "usable_tokens")
_RELATIONS = ("is_hit", "targets", "kinds", "weights", "names")
_RELATED = """,
       c.id IN (SELECT id FROM hits) AS is_hit, link.targets, link.kinds, link.weights,
       counting.names"""
_JOINED = """
  LEFT JOIN link ON link.id = c.id LEFT JOIN counting ON counting.id = c.id"""
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
    PARTITION BY parent ORDER BY kind DESC, weight DESC, id) AS place
  FROM (
    SELECT source_id AS parent, target_id AS id, kind, weight FROM catalog_edge
    WHERE source_id = ANY (ARRAY(SELECT id FROM foremost))
      AND kind IN ('DEPENDS_ON', 'COMPOSED_WITH') AND {for_the_group}
    UNION ALL
    SELECT target_id, source_id, kind, weight FROM catalog_edge
    WHERE target_id = ANY (ARRAY(SELECT id FROM foremost)) AND kind = 'COMPOSED_WITH'
      AND {for_the_group}) other
  WHERE id IN (SELECT id FROM usable)
),
around AS MATERIALIZED (
  SELECT id FROM foremost UNION SELECT id FROM beside WHERE place <= {beside_each}
),
shown AS MATERIALIZED (SELECT id FROM hits UNION SELECT id FROM around),
link AS MATERIALIZED (
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
