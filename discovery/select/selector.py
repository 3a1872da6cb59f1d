"""The selector: the few capabilities that match a message and that the caller may use, with
reasons."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from typing import Any

import structlog
from django.conf import settings
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from acl.platform.redis_circuit import redis_circuit
from acl.rights.caller_lookup import Caller
from catalog import lexical
from catalog.embedding.embedder import EmbedderLoading, EmbedderUnavailable
from catalog.embedding.query_vectors import EmbeddedTexts, embed_queries
from catalog.readiness.readiness import tell_approvers
from discovery.learning.experience_store import Note, write_note
from discovery.learning.memory import PastUse, Vote, gains_by_level
from discovery.select._candidate_rows import Candidate, CandidateQuery, Candidates
from discovery.select._indexed_candidates import find_by_index
from discovery.select._nearest_candidates import find_in_postgres
from discovery.select._selection_reasons import (
    MessageWords,
    evidence_for,
    find_direct,
    message_words,
    raised_by,
    reasons_for,
    reasons_for_needed,
)
from discovery.select.example_texts import NearAbilities, near_abilities
from discovery.select.helping_offers import DISCOVERY_TOOL, Unmet, find_help
from discovery.select.judgements import (
    CLEARLY_FITS,
    costs_of_effects,
    is_polite,
    is_small_talk,
)
from discovery.select.message import MessageTexts, is_vague, read, shorten
from discovery.select.ranking.competition import (
    Needed,
    Order,
    Placed,
    Ranked,
    Support,
    give_places,
    names_in,
    put_first,
    rank,
    rerank,
    support_of,
)
from discovery.select.ranking.thresholds import MATCHES, NOTHING, Fit
from discovery.select.selection import Selected, Selection, SelectRequest, Workings

LENGTH_OF_RANKING = 20
log = structlog.get_logger(__name__)


def select_capabilities(request: SelectRequest, *, order: Order | None = None) -> Selection:
    """Select capabilities for a message.

    One SQL statement, two where the process has yet to learn what the caller may use or a tool
    asks first, and no network but Postgres, Redis and the embedding. Where nothing fits,
    a fixed number of others finds what could help. Without a model it ranks by words and says so
    in `degraded`. `order` is asked about the first ones, where something fits.
    """
    watch = _Stopwatch()
    message = shorten(request.message, settings.PEGBOARD_MAX_MESSAGE_CHARACTERS)
    if message != request.message:
        request = replace(request, message=message)
    reading = read(message, request.history, request.steps)
    texts = reading.texts
    embedded, problem = _embed(reading)
    near = near_abilities(embedded)
    watch.lap("embedding")
    words = [lexical.query_vector(text) for text in texts]
    candidates = _find(request, words, embedded, near)
    watch.lap("sql")
    use = PastUse.of(candidates.experiences, candidates.checked)
    ranked = _rank(candidates, reading, embedded, use, names_in(message))
    noted, foreign = _note(embedded, ranked, use.votes), bool(reading.foreign)
    background = near and near.nearness(candidates.likeness_of_abilities)
    support = support_of(ranked, use, background, embedded, words=len(words[0]), foreign=foreign)
    fit = _fit(request, reading, embedded, ranked, support, learned=use.decides)
    worth = support.least(ranked)
    least = worth if fit == "fits" else NOTHING
    boost = settings.PEGBOARD_GRAPH_BOOST
    ranked = rerank(ranked, candidates.relations, least=least, boost=boost)
    if order is not None and fit == "fits":
        ranked = put_first(ranked, order)
    most = request.max_tools
    placed, needed = give_places(ranked, candidates, most=most, least=least, boost=boost)
    watch.lap("ranking")
    selected = _tell_approvers(_explain_all(placed, needed, texts), request.caller)
    watch.lap("rendering")
    degraded = _degradations(problem, candidates)
    fit = "nothing_fits" if fit == "fits" and not _fitting(selected, least) else fit
    direct = find_direct(message, ranked, selected, candidates) if fit == "fits" else None
    workings = Workings(texts, reading.own > 0, ranked, placed, worth)
    more = {"direct": direct, "degraded": degraded, "noted": noted, "workings": workings}
    selection = _answer(ranked, selected, candidates, fit, more)
    if fit == "nothing_fits":
        unmet = Unmet(message, request.caller, texts, embedded, near)
        discovery = any(item.full_name == DISCOVERY_TOOL for item in selected)
        selection = replace(selection, help=find_help(unmet, discovery=discovery))
        watch.lap("help")
    return replace(selection, timings=watch.finish())


def _rank(
    candidates: Candidates,
    reading: MessageTexts,
    embedded: EmbeddedTexts | None,
    use: PastUse,
    names: set[str],
) -> list[Ranked]:
    return rank(
        candidates.found,
        texts=reading.texts,
        names=names,
        use=use,
        servers=candidates.servers,
        model=embedded.model if embedded else "",
        costs=costs_of_effects(embedded),
        goes_on=reading.own > 0,
    )


@dataclass(slots=True)
class _Stopwatch:
    """Stopwatch of a selection: milliseconds by part."""

    started: float = field(default_factory=time.perf_counter)
    timings: dict[str, float] = field(default_factory=dict)

    def lap(self, part: str) -> None:
        self.timings[part] = (time.perf_counter() - self.started) * 1000 - sum(
            self.timings.values()
        )

    def finish(self) -> dict[str, float]:
        return self.timings | {"total": (time.perf_counter() - self.started) * 1000}


def _embed(reading: MessageTexts) -> tuple[EmbeddedTexts | None, str]:
    """Embed the texts, or return a note; the reason is logged, since it names files."""
    try:
        return embed_queries(reading.texts, foreign=reading.foreign), ""
    except EmbedderLoading:
        return None, _("Ranked by words only: the embedding model is loading.")
    except EmbedderUnavailable as problem:
        log.warning("selecting by words only", reason=str(problem))
        return None, _("Ranked by words only: the embedding model does not answer.")


def _find(
    request: SelectRequest,
    words: Sequence[dict[int, float]],
    embedded: EmbeddedTexts | None,
    near: NearAbilities | None,
) -> Candidates:
    query = CandidateQuery(
        caller=request.caller,
        model=embedded.model if embedded else "",
        vectors=embedded.vectors if embedded else None,
        words=words,
        abilities=near and near.vectors,
        names=names_in(request.message) | {request.beside},
        kind="" if request.kind in {"any", "all"} else request.kind,
        unavailable=not request.only_available,
        connected=request.only_connected,
        only_here=request.only_here,
        use_graph=request.use_graph and settings.PEGBOARD_GRAPH_BOOST > 0,
        use_experience=settings.PEGBOARD_LEARNING,
        apart=request.apart,
        may_lag=request.may_lag,
    )
    return find_by_index(query) or find_in_postgres(query)


def _note(
    embedded: EmbeddedTexts | None, ranked: Sequence[Ranked], votes: Mapping[int, Vote]
) -> bytes | None:
    """Return the turn's note for learning; None without a vector."""
    if embedded is None or not settings.PEGBOARD_LEARNING:
        return None
    strengths = {item.candidate.pk: item.judged.strength + item.exact_name for item in ranked}
    gains = gains_by_level(strengths, votes)
    return write_note(Note(embedded.model, embedded.vectors[0], gains))


def _degradations(problem: str, candidates: Candidates) -> tuple[str, ...]:
    """Return what this answer had to do without, in words."""
    waiting = sum(None in candidate.cosines for candidate in candidates.found)
    notes = (
        problem,
        waiting
        and ngettext(
            "%(count)s candidate has no vector yet and competes by its words only.",
            "%(count)s candidates have no vectors yet and compete by their words only.",
            waiting,
        )
        % {"count": waiting},
        redis_circuit.failing
        and _("Redis is unavailable: message vectors are not shared between processes."),
    )
    return tuple(note for note in notes if note)


def _fit(
    request: SelectRequest,
    reading: MessageTexts,
    embedded: EmbeddedTexts | None,
    ranked: Sequence[Ranked],
    support: Support,
    *,
    learned: bool,
) -> Fit:
    """Judge the message as a whole: does it ask for something, is it clear, does anything fit.

    A message whose kind is `learned` is what was called for it, unless it is mere politeness.
    """
    best = ranked[0].judged.score if ranked else 0.0
    if learned and not is_polite(request.message):
        return "fits"
    if _is_small_talk(request, reading, embedded, ranked):
        return "small_talk"
    if not reading.own and best < CLEARLY_FITS and is_vague(request.message):
        return "needs_clarification"
    return "fits" if support.enough else "nothing_fits"


def _is_small_talk(
    request: SelectRequest,
    reading: MessageTexts,
    embedded: EmbeddedTexts | None,
    ranked: Sequence[Ranked],
) -> bool:
    """Judge the message by itself: neither earlier messages, which the first text may contain, nor
    experiences count. A message without words, such as a picture, says what the one before said."""
    if not request.message.strip():
        return not reading.own
    embedded_message = embedded and replace(embedded, vectors=embedded.vectors[reading.own :])
    best = max((item.judged.by_itself for item in ranked), default=0.0)
    return is_small_talk(request.message, embedded_message, best, goes_on=reading.own > 0)


def _fitting(selected: Sequence[Selected], least: float) -> list[Selected]:
    """Return what is there because it fits, and not for being pinned or needed."""
    return [
        item for item in selected if not item.needed_by and (not item.pinned or item.score >= least)
    ]


def _explain_all(
    placed: Placed, needed: Sequence[Needed], texts: Sequence[str]
) -> tuple[Selected, ...]:
    """Explain the selected capabilities, best first."""
    spoken, language = message_words(texts[0]), get_language()
    selected = [_explain(item, twins, texts, spoken, language) for item, twins in placed]
    selected += [_explain_needed(item) for item in needed]
    return tuple(sorted(selected, key=lambda item: (not item.readiness.is_offered, -item.score)))


def _tell_approvers(selected: Sequence[Selected], caller: Caller) -> tuple[Selected, ...]:
    readinesses = tell_approvers([item.readiness for item in selected], caller.user_id)
    if all(
        item.readiness is readiness for item, readiness in zip(selected, readinesses, strict=True)
    ):
        return tuple(selected)
    return tuple(
        replace(item, readiness=readiness_told)
        for item, readiness_told in zip(selected, readinesses, strict=True)
    )


def _explain(
    item: Ranked,
    twins: Sequence[Ranked],
    texts: Sequence[str],
    spoken: MessageWords,
    language: str | None,
) -> Selected:
    return _selected(
        item.candidate,
        score=item.score,
        reasons=reasons_for(item, texts=texts, spoken=spoken, language=language),
        evidence=evidence_for(item),
        alternatives=tuple(twin.candidate.full_name for twin in twins),
        raised_by=raised_by(item),
    )


def _explain_needed(item: Needed) -> Selected:
    return _selected(
        item.candidate,
        score=item.score,
        reasons=reasons_for_needed(item),
        evidence={"graph": round(item.score, 4)},
        needed_by=item.parent,
    )


_COPIED = tuple(one.name for one in fields(Selected) if hasattr(Candidate, one.name))
_copied = attrgetter(*_COPIED)


def _selected(candidate: Candidate, *, score: float, **why: Any) -> Selected:
    """Copy what both have, by name."""
    columns = dict(zip(_COPIED, _copied(candidate), strict=True))
    columns |= {"tags": tuple(candidate.tags), "effect_flags": tuple(candidate.effect_flags)}
    return Selected(**columns, score=round(score, 4), **why)


def _answer(
    ranked: Sequence[Ranked],
    selected: tuple[Selected, ...],
    candidates: Candidates,
    fit: Fit,
    more: Mapping[str, Any],
) -> Selection:
    excluded = candidates.usable - len(selected)
    return Selection(
        selected=selected,
        core_included=tuple(item.full_name for item in selected if item.core),
        excluded_count=excluded,
        reason=_summary(selected, excluded, fit),
        discovery_suggested=excluded > 0,
        tokens_all=candidates.tokens,
        tokens_selected=sum(item.tokens for item in selected),
        timings={},
        ranking=tuple(item.candidate.identifier for item in ranked[:LENGTH_OF_RANKING]),
        fit=fit,
        question=_("What exactly do you mean, and what should I do with it?")
        if fit == "needs_clarification"
        else "",
        **more,
    )


def _summary(selected: Sequence[Selected], excluded: int, fit: Fit) -> str:
    """Summarize the answer in one or two sentences for people."""
    if fit == "small_talk":
        return _("The message asks for nothing, so it needs no tool.")
    if fit == "needs_clarification":
        return _("The message does not say what it is about.")
    if fit == "nothing_fits":
        return _("Nothing you can use fits this message.")
    fitting = [item for item in selected if not item.pinned and not item.needed_by]
    count = len(fitting)
    if max((item.score for item in fitting), default=1.0) < MATCHES:
        sentence = ngettext(
            "Nothing fits well; %(count)s of your tools comes nearest.",
            "Nothing fits well; %(count)s of your tools come nearest.",
            count,
        )
    else:
        sentence = ngettext(
            "%(count)s of your tools matches this message.",
            "%(count)s of your tools match this message.",
            count,
        )
    sentence %= {"count": count}
    if not excluded:
        return sentence
    more = ngettext(
        "The discovery tool can find %(count)s more.",
        "The discovery tool can find %(count)s more.",
        excluded,
    )
    return f"{sentence} {more % {'count': excluded}}"
