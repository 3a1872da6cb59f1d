"""Candidates by the index of this process: ranked here, and read by one short statement.

The ranking starts from the rows that the caller may use, which are remembered with the version of
the rights. The statement compares that version and those of the index with the database's at its
own moment, and answers only if they are equal; so the answer is that of `candidates.py` at this
moment. Definitions are kept beside the index, and scores are the index's own: the statement reads
what can change without a version, which is whether calls would succeed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from acl.platform.database_connections import rows_of
from acl.platform.read_replica import read_replica
from acl.rights.version import version_sql
from catalog.querysets import TABLES
from catalog.readiness.readiness import COLUMNS, facts_sql
from catalog.search_index.cache import index_cache
from catalog.search_index.rows import (
    IS_CURRENT_SQL,
    Scores,
    SearchIndex,
    best_rows,
    likeness_of_means,
)
from discovery.learning import memory
from discovery.learning.memory import PastCall, VoteGains
from discovery.select._candidate_rows import (
    DEFINITION,
    MODEL,
    Candidate,
    CandidateQuery,
    Candidates,
)
from discovery.select._usable_rows import (
    Definition,
    IndexUse,
    UsableRows,
    sent_ids,
    use_of,
)
from discovery.select.candidates import (
    BESIDE_EACH,
    FOREMOST,
    FOREMOST_OF_SEVERAL,
    NEAREST,
    NEAREST_OF_SEVERAL,
)
from discovery.select.ranking.relation_gains import RankedRelation, relations_by_shared

# Where rights change between ranking and reading, it ranks once more; then SQL does everything.
_ATTEMPTS = 2


@dataclass(frozen=True, slots=True)
class _Draft:
    """Rows of the index: the hits, and the best of them with what is beside these."""

    hits: frozenset[int]
    foremost: frozenset[int]
    around: frozenset[int]
    worded: Scores  # of all rows, for the first text
    likeness: Scores | None  # for each text, of the usable rows
    # For each server and text, the cosine of its usable tools' mean; None where it does not count.
    servers: npt.NDArray[np.float64] | None = None


def find_by_index(query: CandidateQuery) -> Candidates | None:
    """Find the candidates by the index; None where this process has none that is current."""
    index = index_cache.at(query.model)
    if index is None:
        return None
    use = use_of(index)
    usable = use.at(query)
    for _ in range(_ATTEMPTS):
        usable = usable or use.load(query)
        if usable is None:
            break
        draft = _draft(index, usable, query)
        rows, definitions = _read(index, use, usable, draft, query)
        is_current, is_fresh = rows[0][:2]
        if is_fresh:
            new = [row[_DEFINITION] for row in rows if row[_DEFINITION.start] is not None]
            use.keep(new)
            definitions |= {definition[0]: definition for definition in new}
            return _candidates(index, definitions, usable, draft, query, rows)
        if not is_current:
            break
        usable = None
    else:
        return None
    index_cache.outdate(index)
    return None


def _draft(index: SearchIndex, usable: UsableRows, query: CandidateQuery) -> _Draft:
    """Rank what the caller may use by both arms, as `candidates.py` does in SQL."""
    several = len(query.words) > 1
    most = NEAREST_OF_SEVERAL if several else NEAREST
    first = FOREMOST_OF_SEVERAL if several else FOREMOST
    scores = index.words.score(query.words[0])
    worded = best_rows(scores, usable.rows, most, above=0.0)
    likeness = None if query.vectors is None else index.likeness(query.vectors, usable.rows)
    near = [] if likeness is None else index.nearest(likeness, usable.rows, most)
    servers = None
    if likeness is not None and query.by_server:
        servers = likeness_of_means(index, usable.rows, likeness, usable.servers)
    rows = (index.rows_by_name.get(name) for name in query.names)
    named_rows = [row for row in rows if row is not None and usable.mask[row]]
    hits = frozenset((*worded, *near, *named_rows, *usable.always))
    if not query.use_graph:
        return _Draft(hits, frozenset(), frozenset(), scores, likeness, servers)
    foremost = frozenset((*named_rows, *worded[:first], *near[:first]))
    groups = query.caller.group_ids
    beside = (
        index.relations.beside(row, groups=groups, usable=usable.mask, most=BESIDE_EACH)
        for row in foremost
    )
    return _Draft(hits, foremost, foremost.union(*beside), scores, likeness, servers)


def _read(
    index: SearchIndex, use: IndexUse, usable: UsableRows, draft: _Draft, query: CandidateQuery
) -> tuple[list[tuple[Any, ...]], dict[int, Definition]]:
    """Return the rows, and the definitions that were kept before, which the rows do not have."""
    places = sorted(draft.hits | draft.around)
    ids = index.ids[places]
    definitions = use.definitions(ids.tolist())
    all_ids = sent_ids(ids)
    parameters = query.parameters_of_rows() | {
        "ids": all_ids,
        "kept": all_ids if len(definitions) == len(ids) else sent_ids(list(definitions)),
        "usable": usable.sent if query.experiences else None,
        "rights_version": usable.version,
        **index.label._asdict(),
    }
    statement = _statement(query.experiences)
    lagging = read_replica.table_of(statement, parameters) if query.may_lag else None
    # A replica may be behind the index and the rows. Only the primary says that these are outdated.
    if lagging is not None and lagging.rows[0][_IS_FRESH]:
        return lagging.rows, definitions
    return rows_of(statement, parameters, binary=True), definitions


def _candidates(
    index: SearchIndex,
    definitions: Mapping[int, Definition],
    usable: UsableRows,
    draft: _Draft,
    query: CandidateQuery,
    rows: Sequence[tuple[Any, ...]],
) -> Candidates:
    hits = {int(pk) for pk in index.ids[sorted(draft.hits)]}
    experiences: list[PastCall] = []
    checked = VoteGains()
    if rows[0][_KEY] is None:  # the state alone: nothing was found
        rows = ()
    if query.experiences:
        for row in rows:
            *calls, gains, squares = row[_EXPERIENCES]
            checked = VoteGains(gains, squares) if gains else checked
            if calls[0]:
                hits.add(row[_KEY])
                experiences += map(PastCall, repeat(row[_KEY]), *calls)
    candidates = _made(index, definitions, usable, draft, query, rows)
    hit_candidates = [candidate for candidate in candidates if candidate.pk in hits]
    outside = [candidate for candidate in candidates if candidate.pk not in hits]
    embedded = any(
        cosine is not None for candidate in hit_candidates for cosine in candidate.cosines
    )
    return Candidates(
        hit_candidates,
        usable.count,
        usable.tokens,
        embedded,
        outside,
        _relations(index, usable, draft, query, candidates),
        experiences,
        checked,
        _servers(index, draft, hit_candidates),
        _likeness_of_abilities(index, query, hit_candidates),
    )


def _made(
    index: SearchIndex,
    definitions: Mapping[int, Definition],
    usable: UsableRows,
    draft: _Draft,
    query: CandidateQuery,
    rows: Sequence[tuple[Any, ...]],
) -> list[Candidate]:
    """Make candidates of kept definitions, what the rows say of each, and the index's scores."""
    keys = [row[_KEY] for row in rows]
    places = np.searchsorted(index.ids, keys)
    others = (index.words.score(text) for text in query.words[1:])
    words = np.stack([scores[places] for scores in (draft.worded, *others)], axis=1).tolist()
    cosines: list[list[float | None]] = [[None] * query.vector_count] * len(rows)
    if draft.likeness is not None:
        cosines = [
            near if has else missing
            for near, has, missing in zip(
                draft.likeness[:, places].T.tolist(),
                index.embedded[places].tolist(),
                cosines,
                strict=True,
            )
        ]
    asks_first = usable.asking[places].tolist()
    return [
        Candidate._make(
            (*definitions[row[_KEY]], row[_ASKS_FIRST] or asks, *row[_FACTS], near, scores)
        )
        for row, asks, near, scores in zip(rows, asks_first, cosines, words, strict=True)
    ]


def _servers(
    index: SearchIndex, draft: _Draft, candidates: Sequence[Candidate]
) -> dict[int, tuple[float, ...]]:
    if draft.servers is None:
        return {}
    keys = [candidate.pk for candidate in candidates]
    cosines = draft.servers[index.servers[np.searchsorted(index.ids, keys)]]
    has_cosines = ~np.isnan(cosines[:, 0])
    return {
        pk: tuple(values)
        for pk, values, has in zip(keys, cosines.tolist(), has_cosines, strict=True)
        if has
    }


def _likeness_of_abilities(
    index: SearchIndex, query: CandidateQuery, candidates: Sequence[Candidate]
) -> Sequence[float]:
    if query.abilities is None:
        return ()
    places = np.searchsorted(index.ids, [candidate.pk for candidate in candidates])
    vectors = index.matrix[places[index.embedded[places]]]
    return (vectors @ query.abilities.T).max(axis=0).tolist() if len(vectors) else ()


def _relations(
    index: SearchIndex,
    usable: UsableRows,
    draft: _Draft,
    query: CandidateQuery,
    candidates: Sequence[Candidate],
) -> list[RankedRelation]:
    if not draft.around:
        return []
    keys = np.array(sorted(candidate.pk for candidate in candidates), dtype=np.int64)
    rows = frozenset(np.searchsorted(index.ids, keys).tolist())
    ids = index.ids
    edges = index.relations.edges(draft.around & rows, rows, query.caller.group_ids)
    stored = [
        RankedRelation(int(ids[edge.source]), int(ids[edge.target]), edge.kind, edge.weight)
        for edge in edges
    ]
    shared = index.relations.shared(draft.foremost, usable.mask, usable.count)
    names = {int(ids[row]): shared_names for row, shared_names in shared.items()}
    keys_and_kinds = {relation[:3] for relation in stored}
    computed = relations_by_shared(names)
    return stored + [relation for relation in computed if relation[:3] not in keys_and_kinds]


@cache
def _statement(experiences: int) -> str:
    """Build the statement; the text is the same for the same argument, so it is prepared once."""
    facts = facts_sql(mode="2")  # the mode is in the rows: the statement has no rights
    return _STATEMENT.format(
        model=f"WITH {MODEL}, {memory.memory_ctes(experiences, _IS_USABLE)},"
        if experiences
        else "WITH",
        called=memory.HITS if experiences else "",
        checked=memory.CHECKED if experiences else "",
        is_current=IS_CURRENT_SQL,
        version=version_sql(TABLES.ended),
        facts=facts,
        definition=", ".join(f"CASE WHEN is_unread THEN {column} END" for column in DEFINITION),
        experiences=memory.COLUMNS if experiences else "",
        joined=memory.JOINED if experiences else "",
    )


_IS_USABLE = "x.capability_id = ANY (%(usable)s::bigint[])"
_STATEMENT = """{model}
shown AS MATERIALIZED (SELECT unnest(%(ids)s::bigint[]) AS id {called}),
totals AS MATERIALIZED (SELECT {is_current} AS is_current,
                               {version} = %(rights_version)s::text AS is_same{checked})
SELECT totals.is_current, totals.is_current AND totals.is_same AS is_fresh, c.id, {facts},
       {definition}{experiences}
FROM totals LEFT JOIN (shown JOIN catalog_capability c ON c.id = shown.id
  JOIN catalog_integration i ON i.id = c.integration_id
  CROSS JOIN LATERAL (SELECT c.id <> ALL (%(kept)s::bigint[]) AS is_unread OFFSET 0) reading
  {joined}) ON totals.is_current AND totals.is_same
"""
_IS_FRESH, _KEY, _ASKS_FIRST = 1, 2, 3
_FACTS = slice(_ASKS_FIRST + 1, _ASKS_FIRST + len(COLUMNS))
_DEFINITION = slice(_FACTS.stop, _FACTS.stop + len(DEFINITION))
_EXPERIENCES = slice(_DEFINITION.stop, None)
