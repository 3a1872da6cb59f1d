"""Rows of candidates: the columns that every statement about them has, and what they become."""

import json
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from pgvector import HalfVector, SparseVector, Vector

from acl.platform.database_connections import BinaryValue
from acl.rights.caller_lookup import Caller
from acl.rights.statement import rights_parameters
from catalog.embedding.embedder import Vectors
from catalog.lexical import DIMENSIONS
from catalog.readiness.readiness import (
    COLUMNS,
    MODE_OF_ROW,
    MendLink,
    ToolReadiness,
    facts_parameters,
    facts_sql,
    mend_link,
    readiness_from,
)
from catalog.trust.findings import ReviewedSchema, ReviewedText
from discovery.learning import memory
from discovery.learning.memory import PastCall, VoteGains
from discovery.select.ranking.fusion import FEWEST_OF_SEVERAL
from discovery.select.ranking.relation_gains import RankedRelation

_facts_of = attrgetter(*COLUMNS)
MOST_SCHEMAS = 1_000  # parsed ones that a process keeps, some 5 kB each


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
    failures: int
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
        return _parse_schema(self.schema) if self.schema else None

    @property
    def mend(self) -> MendLink | None:
        """Return the link that mends its readiness, or None."""
        return mend_link(self.readiness, integration=self.integration, full_name=self.full_name)


@lru_cache(maxsize=MOST_SCHEMAS)
def _parse_schema(text: str) -> ReviewedSchema:
    """Parse a schema. The result is shared and must not be modified."""
    return ReviewedSchema(json.loads(text))


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates, and the number and tokens of everything that the caller may use."""

    found: list[Candidate]
    usable: int
    tokens: int
    embedded: bool  # True if any candidate has a vector
    # Dependencies and companions of the hits that are no hits themselves.
    outside: list[Candidate]
    relations: list[RankedRelation]  # among all of these, by primary key
    # Calls of these for the most similar messages, and the gains by earlier votes.
    experiences: list[PastCall]
    checked: VoteGains
    # Cosines of the texts with the mean vector of each one's server, by primary key. The means are
    # made from what the caller may use. Empty where the message has one clause.
    servers: dict[int, tuple[float, ...]]
    # For each ability of the query, the highest cosine with one of `found`; empty without any.
    likeness_of_abilities: Sequence[float]


def columns_sql(vectors: int, texts: int, abilities: int) -> str:
    """Return the columns of `Candidate`, over a capability `c`, its integration `i`, its vector `e`
    and its words `l`, and its cosines with so many abilities."""
    return _COLUMNS.format(
        readiness=facts_sql(mode=MODE_OF_ROW),
        cosines=_cosines_sql("v", vectors),
        words=", ".join(f"-(l.terms <#> %(t{i})s::sparsevec)" for i in range(texts)),
        abilities=_ABILITIES.format(cosines=_cosines_sql("a", abilities)) if abilities else "",
    )


def _cosines_sql(name: str, number: int) -> str:
    return ", ".join(f"1 - (e.vector <=> %({name}{i})s::vector)" for i in range(number))


# What the catalogue's version covers, and so may be kept beside an index of that version.
DEFINITION = (
    *("c.id", "c.identifier", "c.full_name", "c.kind", "c.action", "i.slug", "c.display_name"),
    *("c.description", "c.category", "c.tags", "c.input_schema::text", "c.side_effect"),
    *("c.effect_flags", "c.core", "c.pinned", "c.tokens", "c.fingerprint"),
)
_COLUMNS = (
    ", ".join(map("{} AS {}".format, DEFINITION, Candidate._fields))
    + """, {readiness},
       ARRAY[{cosines}]::float8[] AS cosines,
       ARRAY[{words}]::float8[] AS words{abilities}"""
)
_ABILITIES = """,
       CASE WHEN e.vector IS NOT NULL THEN ARRAY[{cosines}]::float8[] END AS abilities"""
# What they are joined from, after a set of ids.
JOINED_ROWS = """JOIN catalog_integration i ON i.id = c.integration_id
  LEFT JOIN catalog_embedding e ON e.capability_id = c.id AND e.model_id = (SELECT id FROM model)
  LEFT JOIN catalog_lexicalvector l ON l.capability_id = c.id"""
MODEL = """model AS MATERIALIZED (
  SELECT id FROM catalog_embeddingmodel WHERE name = %(model)s::text)"""


class RowReader(NamedTuple):
    """Readers of the parts of a row; None for parts that the statement does not have."""

    key: int
    totals: Callable[[Any], tuple[Any, ...]] | None
    candidate: Callable[[Any], tuple[Any, ...]]
    related: Callable[[Any], tuple[Any, ...]] | None
    experiences: Callable[[Any], tuple[Any, ...]] | None
    server: Callable[[Any], list[float] | None] | None
    abilities: Callable[[Any], list[float] | None] | None


@lru_cache(maxsize=32)
def row_reader(columns: tuple[str, ...]) -> RowReader:
    """Return the reader for rows with these columns, whatever their order."""

    def of(names: Sequence[str]) -> Any:
        return itemgetter(*map(columns.index, names)) if names[0] in columns else None

    key = columns.index("pk")
    return RowReader(
        key,
        of(TOTALS),
        of(Candidate._fields),
        of(RELATIONS),
        of(memory.NAMES),
        of(SERVER),
        of(ABILITIES),
    )


SERVER, ABILITIES = ("server",), ("abilities",)
TOTALS = ("usable", "usable_tokens")
RELATIONS = ("is_hit", "targets", "kinds", "weights", "names")


# A question for candidates: who asks, and with which vectors and words.


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateQuery:
    """A question for the best candidates by meaning and by words.

    `vectors` has a row for the message and one for each clause, by `model`; None means words alone.
    `words` has a lexical query for the same texts. `abilities` are vectors that the candidates are
    compared with. `names` are full names that the message contains literally. `use_experience`
    needs vectors. Experiences of the turns in `apart` do not count. `may_lag` lets a read replica
    answer.
    """

    caller: Caller
    model: str
    vectors: Vectors | None
    words: Sequence[dict[int, float]]
    abilities: Vectors | None = None
    names: Collection[str] = ()
    kind: str = ""
    unavailable: bool = False
    connected: bool = False
    only_here: bool = False
    use_graph: bool = False
    use_experience: bool = False
    apart: Sequence[UUID] = ()
    may_lag: bool = False

    @property
    def asking(self) -> Hashable:
        """Return all that decides what is usable, but for the rights themselves."""
        return self.caller, self.kind, self.unavailable, self.connected, self.only_here

    @property
    def vector_count(self) -> int:
        """Return the number of vectors."""
        return 0 if self.vectors is None else len(self.vectors)

    @property
    def by_server(self) -> bool:
        """Return True if the servers' means count: the message has several clauses."""
        return self.vector_count >= FEWEST_OF_SEVERAL

    @property
    def experiences(self) -> int:
        """Return how many experiences of the group may count."""
        is_needed = self.use_experience and self.vector_count
        return settings.PEGBOARD_LEARNING_MOST if is_needed else 0

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of a statement that finds candidates."""
        vectors = [] if self.vectors is None else list(self.vectors)
        abilities = [] if self.abilities is None else list(self.abilities)
        return {
            **self.parameters_of_rows(),
            "names": list(self.names),
            **{f"v{i}": _binary(Vector(vector)) for i, vector in enumerate(vectors)},
            **{f"a{i}": _binary(Vector(vector)) for i, vector in enumerate(abilities)},
            **{f"t{i}": _binary(SparseVector(q, DIMENSIONS)) for i, q in enumerate(self.words)},
        }

    def parameters_of_rows(self) -> dict[str, Any]:
        """Return the parameters of a statement that reads candidates found by an index."""
        parameters = {**self.rights(), **facts_parameters(), "model": self.model}
        if self.experiences and self.vectors is not None:
            parameters |= {"h0": _binary(HalfVector(self.vectors[0])), "apart": list(self.apart)}
        return parameters

    def rights(self) -> dict[str, Any]:
        """Return the parameters of the rights."""
        return rights_parameters(
            self.caller,
            unavailable=self.unavailable,
            kind=self.kind,
            connected=self.connected,
            only_here=self.only_here,
        )


def _binary(value: Vector | SparseVector | HalfVector) -> BinaryValue:
    return BinaryValue(value.to_binary())
