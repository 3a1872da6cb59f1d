"""Tools that a person may not use, ranked for a message as the selector ranks those they may.

All of them only for admins: the person must learn neither names nor numbers of what is hidden from
them. Those that they may ask for, because an admin marked the integration, by name and no more.
"""

from collections.abc import Callable, Sequence

from acl.rights.caller_lookup import Caller
from catalog import lexical
from catalog.embedding.embedder import EmbedderUnavailable
from catalog.embedding.query_vectors import EmbeddedTexts, embed_queries
from discovery.select._candidate_rows import Candidate, CandidateQuery, Candidates
from discovery.select.asks_to_delete import asks_to_delete
from discovery.select.candidates import find_requestable, find_unheld
from discovery.select.example_texts import nearness
from discovery.select.message import read
from discovery.select.ranking.competition import names_in, rank, support_of

MOST = 8


def rank_unheld(caller: Caller, wish: str) -> list[int]:
    """Return the keys of the tools that fit the wish, best first; empty if none fits."""
    wish = wish.encode(errors="replace").decode().replace("\x00", " ")
    texts = read(wish, ()).texts
    embedded = _embed(texts)
    # What does not work now is theirs all the same.
    query = _query(caller, wish, texts, embedded, unavailable=True)
    fitting = _fitting(find_unheld, query, texts, nearness(embedded))
    return [candidate.pk for candidate in fitting][:MOST]


def rank_requestable(
    caller: Caller,
    message: str,
    texts: Sequence[str],
    embedded: EmbeddedTexts | None,
    background: Sequence[float] | None,
) -> list[Candidate]:
    """Return the tools that fit and that the caller may ask for, best first. One statement."""
    query = _query(caller, message, texts, embedded)
    return _fitting(find_requestable, query, texts, background)


def _query(
    caller: Caller,
    message: str,
    texts: Sequence[str],
    embedded: EmbeddedTexts | None,
    *,
    unavailable: bool = False,
) -> CandidateQuery:
    return CandidateQuery(
        caller=caller,
        model=embedded.model if embedded else "",
        vectors=embedded.vectors if embedded else None,
        words=[lexical.query_vector(text) for text in texts],
        names=names_in(message),
        unavailable=unavailable,
    )


def _fitting(
    find: Callable[[CandidateQuery], Candidates],
    query: CandidateQuery,
    texts: Sequence[str],
    background: Sequence[float] | None,
) -> list[Candidate]:
    """Return the candidates that pass the selector's thresholds, best first."""
    candidates = find(query)
    embedded = None if query.vectors is None else EmbeddedTexts(query.model, query.vectors)
    ranked = rank(
        candidates.found,
        texts=texts,
        names=set(query.names),
        use={},
        servers=candidates.servers,
        model=query.model,
        deletes=asks_to_delete(embedded),
    )
    support = support_of(ranked, {}, background, embedded, words=len(query.words[0]))
    if not support.enough:
        return []
    least = support.least(ranked)
    return [item.candidate for item in ranked if item.score >= least]


def _embed(texts: Sequence[str]) -> EmbeddedTexts | None:
    """Embed the texts; without a model the words alone rank."""
    try:
        return embed_queries(texts)
    except EmbedderUnavailable:
        return None
