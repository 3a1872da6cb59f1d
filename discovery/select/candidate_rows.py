"""Rows of candidates: the columns that every statement about them has, and what they become."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from catalog.readiness.facts import COLUMNS, MODE_OF_ROW, facts_sql, readiness_from
from catalog.readiness.mend_links import MendLink, mend_link
from catalog.readiness.readiness import ToolReadiness
from catalog.trust.reviewed_texts import ReviewedSchema, ReviewedText
from discovery.learning import memory
from discovery.learning.past_use import PastCall, VoteGains
from discovery.select.ranking.relation_gains import Link

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
    # Cosines of the texts with the mean vector of each one's server, by primary key. The means are
    # made from what the caller may use. Empty where the message has one clause.
    servers: dict[int, tuple[float, ...]]


def columns_sql(vectors: int, texts: int) -> str:
    """Return the columns of `Candidate`, over a capability `c`, its integration `i`, its vector `e`
    and its words `l`."""
    return _COLUMNS.format(
        readiness=facts_sql(mode=MODE_OF_ROW),
        cosines=", ".join(f"1 - (e.vector <=> %(v{i})s::vector)" for i in range(vectors)),
        words=", ".join(f"-(l.terms <#> %(t{i})s::sparsevec)" for i in range(texts)),
    )


_COLUMNS = """c.id AS pk, c.identifier, c.full_name, c.kind,
       c.action, i.slug AS integration, c.display_name, c.description, c.category, c.tags,
       c.input_schema::text AS schema, c.side_effect, c.effect_flags, c.core, c.pinned, c.tokens,
       c.fingerprint, {readiness},
       ARRAY[{cosines}]::float8[] AS cosines,
       ARRAY[{words}]::float8[] AS words"""
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


@lru_cache(maxsize=32)
def row_reader(columns: tuple[str, ...]) -> RowReader:
    """Return the reader for rows with these columns, whatever their order."""

    def of(names: Sequence[str]) -> Any:
        return itemgetter(*map(columns.index, names)) if names[0] in columns else None

    key = columns.index("pk")
    return RowReader(
        key, of(TOTALS), of(Candidate._fields), of(RELATIONS), of(memory.NAMES), of(SERVER)
    )


SERVER = ("server",)
TOTALS = ("usable", "usable_tokens")
RELATIONS = ("is_hit", "targets", "kinds", "weights", "names")
