"""Selections by the index of a process, beside those by SQL alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple
from random import Random
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import Group
from django.db import connection

from acl.rights.caller_lookup import Caller
from catalog.lexical import DIMENSIONS
from catalog.models import Capability, Edge, Embedding, EmbeddingModel, Trait
from catalog.search_index import cache as caching
from discovery.select._candidate_rows import CandidateQuery, Candidates
from discovery.select._indexed_candidates import find_by_index
from discovery.select.candidates import find_candidates
from tests.access.random_worlds import CAPABILITIES, GROUPS

MODEL = "made-up"
EVERYWHERE = 7  # a word that `give_words` puts into every capability


@contextmanager
def index_kept() -> Iterator[caching.IndexCache]:
    """Keep an index in this process, read again at once after each change."""
    cache = caching.IndexCache()
    cache.enabled = True
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(caching, "_TIMES_ITS_LOADING", 0)
        patch.setattr("discovery.select._indexed_candidates.index_cache", cache)
        yield cache


def give_words() -> None:
    """Give every capability one common word and one of its own, each with a weight of its own."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO catalog_lexicalvector (capability_id, terms)"
            " SELECT id, ('{' || %s || ':' || 1 + id %% 97 * 0.01 || ','"
            " || 1000 + id %% 5000 || ':0.5}/' || %s)"
            "::sparsevec"
            " FROM catalog_capability"
            " ON CONFLICT (capability_id) DO NOTHING",
            [EVERYWHERE + 1, DIMENSIONS],
        )


def fill(random: Random) -> None:
    """Give the world vectors, words, edges and traits."""
    model = EmbeddingModel.objects.create(name=MODEL, dimension=8, active=True)
    numbers = np.random.default_rng(random.randrange(2**32))
    for pk in CAPABILITIES:
        vector = unit(numbers.standard_normal(8)) if random.random() < 0.8 else None
        Embedding.objects.create(capability_id=pk, model=model, text_hash="x", vector=vector)
        Trait.objects.create(capability_id=pk, name="tool:other" if pk % 2 else "tool:mail")
        for tag in random.sample(["#a", "#b", "#c", "#d"], 2):
            Trait.objects.create(capability_id=pk, name=tag)
    give_words()
    for _ in range(25):
        source, target = random.sample(CAPABILITIES, 2)
        kind = random.choice(["DEPENDS_ON", "DECLARED", "COMPOSED_WITH"])
        if kind == "COMPOSED_WITH" and source > target:
            source, target = target, source
        origin = random.choice(["admin", "metadata"])
        Edge.objects.get_or_create(
            source_id=source,
            target_id=target,
            kind=kind,
            origin=origin,
            group=Group.objects.filter(pk=random.choice([0, *GROUPS])).first()
            if origin == "admin"
            else None,
            defaults={"weight": random.choice([0.0, 0.25, 0.5, 1.0])},
        )


def random_query(caller: Caller, random: Random) -> CandidateQuery:
    numbers = np.random.default_rng(random.randrange(2**32))
    texts = random.choice([1, 1, 2, 3])
    words = [{EVERYWHERE: 1.0, 1000 + random.choice(CAPABILITIES): 2.0} for _ in range(texts)]
    named = Capability.objects.get(pk=random.choice(CAPABILITIES)).full_name
    return CandidateQuery(
        caller=caller,
        model=MODEL,
        vectors=numbers.standard_normal((texts, 8)).astype(np.float32),
        words=words,
        abilities=np.stack([unit(numbers.standard_normal(8)) for _ in range(4)]),
        names=random.choice([(), (named,), ("nobody__knows",)]),
        kind=random.choice(["", "", "tool", "skill"]),
        unavailable=random.random() < 0.3,
        connected=random.random() < 0.3,
        only_here=random.random() < 0.3,
        use_graph=random.random() < 0.8,
        use_experience=random.random() < 0.3,
    )


def by_index(query: CandidateQuery) -> Candidates:
    """Find by the index, with another try after the first change that it meets."""
    found = find_by_index(query) or find_by_index(query)
    assert found is not None
    return found


def comparable(found: Candidates) -> dict[str, Any]:
    """Return everything of an answer, in an order that does not depend on the way."""
    return {
        "found": _rows(found.found),
        "outside": _rows(found.outside),
        "totals": (found.usable, found.tokens, found.embedded),
        "relations": sorted(map(tuple, found.relations)),
        "experiences": sorted(map(tuple, map(astuple_or_tuple, found.experiences))),
        "checked": found.checked,
        "abilities": [_rounded(each) for each in found.likeness_of_abilities],
    }


def astuple_or_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple) else astuple(value)


def _rows(rows: list[Any]) -> list[Any]:
    """Return the rows by key; the process and Postgres round cosines differently."""
    rounded = (row._replace(cosines=[_rounded(each) for each in row.cosines]) for row in rows)
    return sorted((tuple(row) for row in rounded), key=lambda row: row[0])


def _rounded(cosine: float | None) -> Any:
    return None if cosine is None else pytest.approx(cosine, abs=1e-5)


def assert_same_way(query: CandidateQuery) -> Candidates:
    """Assert that both ways give the same candidates, and return them."""
    found, by_sql = by_index(query), find_candidates(query)
    assert comparable(found) == comparable(by_sql)
    assert found.servers.keys() == by_sql.servers.keys()
    for pk, cosines in found.servers.items():  # the process and Postgres round differently
        assert cosines == pytest.approx(by_sql.servers[pk], abs=1e-5)
    return found


def unit(vector: Any) -> Any:
    return np.asarray(vector, dtype=np.float32) / np.linalg.norm(vector)
