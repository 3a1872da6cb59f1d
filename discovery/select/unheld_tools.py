"""Tools that a person may not use, ranked for their wish as the selector ranks those they may.

Only for admins: the person must learn neither names nor numbers of what is hidden from them.
"""

from collections.abc import Sequence

from acl.rights.caller import Caller
from catalog import lexical
from catalog.embedding.embedder import EmbedderUnavailable
from catalog.embedding.query_vectors import EmbeddedTexts, embed_queries
from discovery.select.candidate_query import CandidateQuery
from discovery.select.candidates import find_unheld
from discovery.select.common_abilities import nearness
from discovery.select.message import read
from discovery.select.ranking.competition import names_in, rank, support_of
from discovery.select.ranking.thresholds import cut

MOST = 8


def rank_unheld(caller: Caller, wish: str) -> list[int]:
    """Return the keys of the tools that fit the wish, best first; empty if none fits."""
    wish = wish.encode(errors="replace").decode().replace("\x00", " ")
    texts = read(wish, ()).texts
    embedded = _embed(texts)
    model = embedded.model if embedded else ""
    query = CandidateQuery(
        caller=caller,
        model=model,
        vectors=embedded.vectors if embedded else None,
        words=[lexical.query_vector(text) for text in texts],
        names=names_in(wish),
        unavailable=True,  # what does not work now is theirs all the same
    )
    ranked = rank(find_unheld(query).found, texts=texts, names=names_in(wish), use={}, model=model)
    support = support_of(ranked, {}, nearness(embedded), model, words=len(query.words[0]))
    if not support.enough:
        return []
    scores = [item.score for item in ranked]
    least = cut(scores, by_words=support.by_words, share=support.share)
    return [item.candidate.pk for item in ranked if item.score >= least][:MOST]


def _embed(texts: Sequence[str]) -> EmbeddedTexts | None:
    """Embed the texts; without a model the words alone rank."""
    try:
        return embed_queries(texts)
    except EmbedderUnavailable:
        return None
