"""Candidates by the index of this process: ranked here, and read by one short statement.

The ranking starts from the rows that the caller may use, which are remembered under a digest of all
that decides them. The statement computes that digest from the rights of its own moment, compares it
and the versions of the index, and answers only if they are equal; so the answer is that of
`candidates.py` at this moment. It also reads only what those rights allow, whatever was remembered.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from acl.platform.prepared_statements import Table, table_of
from acl.platform.read_replica import read_replica
from acl.rights.statement import rights_sql
from catalog.querysets import TABLES
from catalog.search_index.cache import index_cache
from catalog.search_index.rows import IS_CURRENT_SQL, SearchIndex, likeness_of_means
from discovery.learning import memory
from discovery.learning.past_use import PastCall, VoteGains
from discovery.select._candidate_rows import (
    JOINED_ROWS,
    MODEL,
    Candidate,
    CandidateQuery,
    Candidates,
    columns_sql,
    row_reader,
)
from discovery.select._usable_rows import UsableRows, usable_rows_of
from discovery.select.candidates import (
    BESIDE_EACH,
    FOREMOST,
    FOREMOST_OF_SEVERAL,
    NEAREST,
    NEAREST_OF_SEVERAL,
)
from discovery.select.ranking.relation_gains import RankedRelation, links_by_shared

# Where rights change between ranking and reading, it ranks once more; then SQL does everything.
_ATTEMPTS = 2


@dataclass(frozen=True, slots=True)
class _Draft:
    """Rows of the index: the hits, and the best of them with what is beside these."""

    hits: frozenset[int]
    foremost: frozenset[int]
    around: frozenset[int]
    # For each server and text, the cosine of its usable tools' mean; None where it does not count.
    servers: npt.NDArray[np.float64] | None = None


def find_by_index(query: CandidateQuery) -> Candidates | None:
    """Find the candidates by the index; None where this process has none that is current."""
    index = index_cache.at(query.model)
    if index is None:
        return None
    usable_cache = usable_rows_of(index)
    usable = usable_cache.at(query)
    for _ in range(_ATTEMPTS):
        usable = usable or usable_cache.load(query)
        if usable is None:
            break
        draft = _draft(index, usable, query)
        columns, rows = _read(index, usable, draft, query)
        is_current, is_fresh = rows[0][:2]
        if is_fresh:
            return _candidates(index, usable, draft, query, columns, rows)
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
    worded = index.worded(query.words[0], usable.rows, most)
    likeness = None if query.vectors is None else index.likeness(query.vectors, usable.rows)
    near = [] if likeness is None else index.nearest(likeness, usable.rows, most)
    servers = None
    if likeness is not None and query.by_server:
        servers = likeness_of_means(index, usable.rows, likeness, usable.servers)
    rows = (index.rows_by_name.get(name) for name in query.names)
    named_rows = [row for row in rows if row is not None and usable.mask[row]]
    hits = frozenset((*worded, *near, *named_rows, *usable.always))
    if not query.use_graph:
        return _Draft(hits, frozenset(), frozenset(), servers)
    foremost = frozenset((*named_rows, *worded[:first], *near[:first]))
    groups = query.caller.group_ids
    beside = (
        index.relations.beside(row, groups=groups, usable=usable.mask, most=BESIDE_EACH)
        for row in foremost
    )
    return _Draft(hits, foremost, foremost.union(*beside), servers)


def _read(index: SearchIndex, usable: UsableRows, draft: _Draft, query: CandidateQuery) -> Table:
    statement = _statement(
        query.vector_count, len(query.words), query.experiences, united=query.caller.is_united
    )
    places = sorted(draft.hits | draft.around)
    parameters = query.parameters() | {
        "ids": index.ids[places].tolist(),
        "digest": usable.digest,
        **index.label._asdict(),
    }
    lagging = read_replica.table_of(statement, parameters) if query.may_lag else None
    # A replica may be behind the index and the rows. Only the primary says that these are outdated.
    if lagging is not None and _is_fresh(lagging):
        return lagging
    return table_of(statement, parameters)


def _is_fresh(table: Table) -> bool:
    _, is_fresh = table.rows[0][:2]
    return bool(is_fresh)


def _candidates(
    index: SearchIndex,
    usable: UsableRows,
    draft: _Draft,
    query: CandidateQuery,
    columns: tuple[str, ...],
    rows: Sequence[tuple[Any, ...]],
) -> Candidates:
    reader = row_reader(columns)
    hits = {int(pk) for pk in index.ids[sorted(draft.hits)]}
    hit_candidates: list[Candidate] = []
    outside: list[Candidate] = []
    experiences: list[PastCall] = []
    checked = VoteGains()
    for row in rows:
        if row[reader.key] is None:  # the state alone: nothing was found
            break
        candidate = Candidate._make(reader.candidate(row))
        turns = None
        if reader.experiences:
            turns, likenesses, worths, gains, squares = reader.experiences(row)
            checked = VoteGains(gains, squares) if gains else checked
            if turns:
                experiences += map(PastCall, repeat(candidate.pk), turns, likenesses, worths)
        (hit_candidates if turns or candidate.pk in hits else outside).append(candidate)
    embedded = any(
        cosine is not None for candidate in hit_candidates for cosine in candidate.cosines
    )
    return Candidates(
        hit_candidates,
        usable.count,
        usable.tokens,
        embedded,
        outside,
        _links(index, usable, draft, query, [*hit_candidates, *outside]),
        experiences,
        checked,
        _servers(index, draft, hit_candidates),
    )


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


def _links(
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
    relations, ids = index.relations, index.ids
    edges = relations.edges(draft.around & rows, rows, query.caller.group_ids)
    links = [
        RankedRelation(int(ids[edge.source]), int(ids[edge.target]), edge.kind, edge.weight)
        for edge in edges
    ]
    shared = relations.shared(draft.foremost, usable.mask, usable.count)
    names = {int(ids[row]): shared_names for row, shared_names in shared.items()}
    stored = {(link.source, link.target, link.kind) for link in links}
    return links + [link for link in links_by_shared(names) if link[:3] not in stored]


@lru_cache(maxsize=32)
def _statement(vectors: int, texts: int, experiences: int, *, united: bool) -> str:
    """Build the statement; the text is the same for the same arguments, so it is prepared once."""
    return _STATEMENT.format(
        remembered=memory.REMEMBERED if experiences else "",
        rights=rights_sql(TABLES, united=united, among=True, digest=True),
        model=MODEL,
        memory=f",\n{memory.memory_ctes(experiences)}" if experiences else "",
        called=memory.HITS if experiences else "",
        checked=memory.CHECKED if experiences else "",
        is_current=IS_CURRENT_SQL,
        columns=columns_sql(vectors, texts),
        experiences=memory.COLUMNS if experiences else "",
        joined_rows=JOINED_ROWS,
        joined=memory.JOINED if experiences else "",
    )


_STATEMENT = """WITH RECURSIVE asked (id) AS MATERIALIZED (
  SELECT unnest(%(ids)s::bigint[]){remembered}
),
{rights},
{model}{memory},
shown AS MATERIALIZED (SELECT id FROM usable WHERE id = ANY (%(ids)s::bigint[]) {called}),
totals AS (SELECT {is_current} AS is_current,
                  (SELECT digest FROM rights_digest) = %(digest)s::text AS is_same{checked})
SELECT totals.is_current, totals.is_current AND totals.is_same AS is_fresh, {columns}{experiences}
FROM totals LEFT JOIN (shown JOIN catalog_capability c ON c.id = shown.id
  {joined_rows}{joined}) ON totals.is_current AND totals.is_same
"""
