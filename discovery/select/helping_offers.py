"""Offers of help where nothing fits: what the caller could install, mend, or look for.

The marketplace registers its own when the app loads: it imports discovery, and not the other way
round. Every offer names only what the caller may see already, or what an admin lets everyone see
the name of and ask for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal

from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from acl.platform.answer_model import Answer, Shown
from acl.platform.database_connections import rows_of
from acl.rights.caller_lookup import Caller
from acl.rights.statement import rights_parameters, rights_sql
from catalog import lexical
from catalog.embedding.embedder import EmbedderUnavailable
from catalog.embedding.query_vectors import EmbeddedTexts, embed_queries
from catalog.querysets import TABLES
from catalog.readiness.obstacles import can_run_sql
from catalog.readiness.readiness import (
    LONGEST_WISH,
    MEND_HELP,
    MODE_OF_ROW,
    ToolReadiness,
    facts_parameters,
    facts_sql,
    mend_link,
    path_of,
    readiness_from,
)
from discovery.learning.memory import PastUse
from discovery.select._candidate_rows import Candidate, CandidateQuery, Candidates
from discovery.select.candidates import find_requestable, find_unheld
from discovery.select.example_texts import NearAbilities, near_abilities
from discovery.select.judgements import costs_of_effects
from discovery.select.message import read
from discovery.select.ranking.competition import names_in, rank, support_of

# Tools that a person may not use, ranked for a message as the selector ranks those they may.
#
# All of them only for admins: the person must learn neither names nor numbers of what is hidden
# from them. Those that they may ask for, because an admin marked the integration, by name and no
# more.

MOST = 8


def rank_unheld(caller: Caller, wish: str) -> list[int]:
    """Return the keys of the tools that fit the wish, best first; empty if none fits."""
    wish = wish.encode(errors="replace").decode().replace("\x00", " ")
    texts = read(wish, ()).texts
    embedded = _embed(texts)
    # What does not work now is theirs all the same.
    near = near_abilities(embedded)
    query = _query(caller, wish, texts, embedded, near, unavailable=True)
    fitting = _fitting(find_unheld, query, texts, near)
    return [candidate.pk for candidate in fitting][:MOST]


def rank_requestable(
    caller: Caller,
    message: str,
    texts: Sequence[str],
    embedded: EmbeddedTexts | None,
    near: NearAbilities | None,
) -> list[Candidate]:
    """Return the tools that fit and that the caller may ask for, best first. One statement."""
    query = _query(caller, message, texts, embedded, near)
    return _fitting(find_requestable, query, texts, near)


def _query(
    caller: Caller,
    message: str,
    texts: Sequence[str],
    embedded: EmbeddedTexts | None,
    near: NearAbilities | None,
    *,
    unavailable: bool = False,
) -> CandidateQuery:
    return CandidateQuery(
        caller=caller,
        model=embedded.model if embedded else "",
        vectors=embedded.vectors if embedded else None,
        words=[lexical.query_vector(text) for text in texts],
        abilities=near and near.vectors,
        names=names_in(message),
        unavailable=unavailable,
    )


def _fitting(
    find: Callable[[CandidateQuery], Candidates],
    query: CandidateQuery,
    texts: Sequence[str],
    near: NearAbilities | None,
) -> list[Candidate]:
    """Return the candidates that pass the selector's thresholds, best first."""
    candidates = find(query)
    embedded = None if query.vectors is None else EmbeddedTexts(query.model, query.vectors)
    ranked = rank(
        candidates.found,
        texts=texts,
        names=set(query.names),
        use=PastUse(),
        servers=candidates.servers,
        model=query.model,
        costs=costs_of_effects(embedded),
    )
    background = near and near.nearness(candidates.likeness_of_abilities)
    support = support_of(ranked, PastUse(), background, embedded, words=len(query.words[0]))
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


Kind = Literal["requestable", "listing", "not_working", "discovery", "request"]
DISCOVERY_TOOL = "tool_discovery__find"
MOST_OF_EACH = 2


@dataclass(frozen=True, slots=True)
class HelpOffer(Answer):
    """Something that could help where nothing fits."""

    kind: Annotated[
        Kind,
        Shown(
            "A tool that the caller may ask for, a listing of the marketplace, a tool of the "
            "caller's that does not work now, the discovery tool, or a request to the admins."
        ),
    ]
    name: Annotated[str, Shown("A listing's slug or a tool's full name; empty for a request.")]
    sentence: str
    mend_path: Annotated[str, Shown(MEND_HELP, optional=True)] = ""


@dataclass(frozen=True, slots=True)
class Unmet:
    """An unmet message. `texts` are what was read in it, `embedded` the vectors of these, and
    `near` the common abilities nearest to them."""

    message: str
    caller: Caller
    texts: Sequence[str]
    embedded: EmbeddedTexts | None
    near: NearAbilities | None


Provider = Callable[[Unmet], Sequence[HelpOffer]]
_providers: list[Provider] = []


def register_help(provider: Provider) -> None:
    """Register the function that finds help elsewhere; it takes a fixed number of statements."""
    _providers[:] = [provider]


def find_help(unmet: Unmet, *, discovery: bool) -> tuple[HelpOffer, ...]:
    """Return what could help, most useful first. `discovery` is True if the tool is at hand."""
    # The tools that fit, and that an admin lets everyone see the name of and ask for.
    candidates = rank_requestable(
        unmet.caller, unmet.message, unmet.texts, unmet.embedded, unmet.near
    )
    offers = [_offer_to_ask(candidate) for candidate in candidates[:MOST_OF_EACH]]
    offers += [offer for provider in _providers for offer in provider(unmet)]
    offers += _not_working(unmet)
    if discovery:
        offers.append(
            HelpOffer(
                "discovery", DISCOVERY_TOOL, _("Look for a tool in other words with this one.")
            )
        )
    return (*offers, HelpOffer("request", "", _("Ask an admin for a tool that does this.")))


def _offer_to_ask(candidate: Candidate) -> HelpOffer:
    """Return the offer, which tells the names and nothing of the definition."""
    sentence = _("%(tool)s of %(integration)s may help. Ask an admin for it.") % {
        "tool": candidate.display_name or candidate.full_name,
        "integration": candidate.integration,
    }
    wish = urlencode({"wish": candidate.full_name[:LONGEST_WISH]})
    return HelpOffer("requestable", candidate.full_name, sentence, f"{reverse('requests')}?{wish}")


def _not_working(unmet: Unmet) -> list[HelpOffer]:
    """Return the caller's own tools that would fit by name, but need someone before a call."""
    words = {word for word in lexical.words(unmet.message) if len(word) > 2}
    parameters = {
        **rights_parameters(unmet.caller, unavailable=True),
        **facts_parameters(),
        "words": [f"%{word.replace('_', '')}%" for word in sorted(words)],
    }
    rows = rows_of(_broken(united=unmet.caller.is_united), parameters)
    return [
        _offer_to_mend(full_name, title, integration, readiness_from(facts))
        for full_name, title, integration, *facts in rows
    ]


def _offer_to_mend(
    full_name: str, title: str, integration: str, readiness: ToolReadiness
) -> HelpOffer:
    opening = _("%(tool)s may fit, but does not work at the moment.") % {"tool": title or full_name}
    mend = mend_link(readiness, integration=integration, full_name=full_name)
    sentence = f"{opening} {readiness.sentence}"
    return HelpOffer("not_working", full_name, sentence, path_of(mend))


# Prepared, since planning a statement about rights takes longer than running it. Each integration
# is looked at once: for each of its tools, this took seconds for who may use a million.
@cache
def _broken(*, united: bool) -> str:
    return f"""
WITH RECURSIVE {rights_sql(TABLES, united=united)},
stuck AS MATERIALIZED (
  SELECT i.id FROM catalog_integration i
  WHERE NOT {can_run_sql(integration="i", user="%(user)s::bigint")}
)
SELECT c.full_name, c.display_name, i.slug, {facts_sql(mode=MODE_OF_ROW)}
FROM catalog_capability c JOIN catalog_integration i ON i.id = c.integration_id
WHERE c.id = ANY (ARRAY(SELECT id FROM usable))
  AND (NOT c.available OR c.integration_id IN (SELECT id FROM stuck))
  AND (c.action ILIKE ANY(%(words)s::text[]) OR c.display_name ILIKE ANY(%(words)s::text[]))
ORDER BY c.full_name, c.id LIMIT {MOST_OF_EACH}
"""  # noqa: S608 - the names of our own tables and columns
