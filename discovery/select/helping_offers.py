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
from acl.platform.prepared_statements import rows_of
from acl.rights.caller_lookup import Caller
from acl.rights.statement import rights_parameters, rights_sql
from catalog import lexical
from catalog.embedding.query_vectors import EmbeddedTexts
from catalog.querysets import TABLES
from catalog.readiness.facts import MODE_OF_ROW, facts_parameters, facts_sql, readiness_from
from catalog.readiness.obstacles import can_run_sql
from catalog.readiness.readiness import LONGEST_WISH, MEND_HELP, ToolReadiness, mend_link, path_of
from discovery.select._candidate_rows import Candidate
from discovery.select.unheld_tools import rank_requestable

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
    `background` is the nearness of common abilities."""

    message: str
    caller: Caller
    texts: Sequence[str]
    embedded: EmbeddedTexts | None
    background: tuple[float, ...] | None


Provider = Callable[[Unmet], Sequence[HelpOffer]]
_providers: list[Provider] = []


def register_help(provider: Provider) -> None:
    """Register the function that finds help elsewhere; it takes a fixed number of statements."""
    _providers[:] = [provider]


def find_help(unmet: Unmet, *, discovery: bool) -> tuple[HelpOffer, ...]:
    """Return what could help, most useful first. `discovery` is True if the tool is at hand."""
    offers = _requestable(unmet)
    offers += [offer for provider in _providers for offer in provider(unmet)]
    offers += _not_working(unmet)
    if discovery:
        offers.append(
            HelpOffer(
                "discovery", DISCOVERY_TOOL, _("Look for a tool in other words with this one.")
            )
        )
    return (*offers, HelpOffer("request", "", _("Ask an admin for a tool that does this.")))


def _requestable(unmet: Unmet) -> list[HelpOffer]:
    """Return the tools that fit, and that an admin lets everyone see the name of and ask for."""
    candidates = rank_requestable(
        unmet.caller, unmet.message, unmet.texts, unmet.embedded, unmet.background
    )
    return [_offer_to_ask(candidate) for candidate in candidates[:MOST_OF_EACH]]


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
