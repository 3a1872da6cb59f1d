"""A question for candidates: who asks, and with which vectors and words."""

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from pgvector import HalfVector, SparseVector, Vector

from acl.platform.prepared_statements import BinaryValue
from acl.rights.caller import Caller
from acl.rights.rights_statement import rights_parameters
from catalog.embedding.embedder import Vectors
from catalog.lexical import DIMENSIONS
from catalog.readiness.facts import facts_parameters
from discovery.select.ranking.fusion import FEWEST_OF_SEVERAL


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateQuery:
    """A question for the best candidates by meaning and by words.

    `vectors` has a row for the message and one for each clause, by `model`; None means words alone.
    `words` has a lexical query for the same texts. `names` are full names that the message contains
    literally. `use_experience` needs vectors. Experiences of the turns in `apart` do not count.
    `may_lag` lets a read replica answer.
    """

    caller: Caller
    model: str
    vectors: Vectors | None
    words: Sequence[dict[int, float]]
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
        wanted = self.use_experience and self.vector_count
        return settings.PEGBOARD_LEARNING_MOST if wanted else 0

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of a statement that finds candidates."""
        vectors = [] if self.vectors is None else list(self.vectors)
        parameters = {
            **self.rights(),
            **facts_parameters(),
            "model": self.model,
            "names": list(self.names),
            **{f"v{i}": _binary(Vector(vector)) for i, vector in enumerate(vectors)},
            **{f"t{i}": _binary(SparseVector(q, DIMENSIONS)) for i, q in enumerate(self.words)},
        }
        if self.experiences:
            parameters["h0"] = _binary(HalfVector(vectors[0]))
            parameters["apart"] = list(self.apart)
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
