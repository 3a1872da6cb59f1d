"""The selector: the few capabilities that match a message and that the caller may use, with
reasons."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from typing import Any

import structlog
from django.conf import settings

from acl.platform.redis_circuit import redis_circuit
from catalog import lexical
from catalog.embedding.embedder import EmbedderUnavailable
from catalog.embedding.query_vectors import EmbeddedTexts, embed_queries
from discovery.learning.past_use import Vote, bonuses, choose_level, count_votes, gains_by_level
from discovery.learning.turn_notes import Note, write_note
from discovery.select.candidates import Candidate, Candidates, find_candidates
from discovery.select.message import Reading, read
from discovery.select.ranking.competition import (
    Needed,
    Placed,
    Ranked,
    give_places,
    names_in,
    rank,
    rerank,
)
from discovery.select.ranking.relation_gains import DEPENDS_ON
from discovery.select.ranking.thresholds import is_direct
from discovery.select.selection import Asked, Selected, Selection
from discovery.select.selection_reasons import (
    evidence_for,
    raised_by,
    reasons_for,
    reasons_for_needed,
)
from discovery.select.small_talk import is_small_talk
from discovery.select.trace import Workings

LENGTH_OF_RANKING = 20
log = structlog.get_logger(__name__)


def select_capabilities(asked: Asked) -> Selection:
    """Select capabilities for a message.

    One SQL statement, and no network but Postgres, Redis and the embedding. Without a model it
    ranks by words and says so in `degraded`.
    """
    watch = _Stopwatch()
    asked = replace(asked, message=_clean(asked.message))
    reading = read(asked.message, asked.history)
    texts = reading.texts
    embedded, problem = _embed(texts)
    watch.lap("embedding")
    candidates = _find(asked, texts, embedded)
    watch.lap("sql")
    votes = count_votes(candidates.experiences)
    use = bonuses(votes, choose_level(candidates.checked))
    model = embedded.model if embedded else ""
    ranked = rank(
        candidates.found, texts=texts, names=names_in(asked.message), use=use, model=model
    )
    noted = _note(embedded, ranked, votes)
    small_talk = _is_small_talk(asked, reading, embedded, ranked)
    boost = settings.PEGBOARD_GRAPH_BOOST
    ranked = rerank(ranked, candidates.links, boost=boost)
    placed, needed = give_places(
        ranked, candidates, most=asked.max_tools, small_talk=small_talk, boost=boost
    )
    watch.lap("ranking")
    selected = _explain_all(placed, needed, texts)
    watch.lap("rendering")
    degraded = _degradations(problem, candidates)
    answer = _answer(ranked, selected, candidates, degraded, watch.finish())
    workings = Workings(texts, reading.own > 0, ranked, placed)
    return replace(answer, small_talk=small_talk, noted=noted, workings=workings)


def _clean(message: str) -> str:
    """Remove what Postgres or a tokenizer rejects: lone surrogates and NUL."""
    return message.encode(errors="replace").decode().replace("\x00", " ")


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


def _embed(texts: Sequence[str]) -> tuple[EmbeddedTexts | None, str]:
    """Embed the texts, or return a note; the reason is logged, since it names files."""
    try:
        return embed_queries(texts), ""
    except EmbedderUnavailable as problem:
        log.warning("selecting by words only", reason=str(problem))
        return None, "Ranked by words only: the embedding model does not answer."


def _find(asked: Asked, texts: Sequence[str], embedded: EmbeddedTexts | None) -> Candidates:
    return find_candidates(
        caller=asked.caller,
        model=embedded.model if embedded else "",
        vectors=embedded.vectors if embedded else None,
        words=[lexical.query_vector(text) for text in texts],
        names=names_in(asked.message) | {asked.beside},
        kind="" if asked.kind in {"any", "all"} else asked.kind,
        unavailable=not asked.only_available,
        connected=asked.only_connected,
        use_graph=asked.use_graph and settings.PEGBOARD_GRAPH_BOOST > 0,
        use_experience=settings.PEGBOARD_LEARNING,
    )


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
        waiting and f"{waiting} candidates are not embedded yet and compete by their words only.",
        redis_circuit.failing
        and "Redis is away: message vectors are not shared between processes.",
    )
    return tuple(note for note in notes if note)


def _is_small_talk(
    asked: Asked, reading: Reading, embedded: EmbeddedTexts | None, ranked: Sequence[Ranked]
) -> bool:
    """Judge the message by itself: neither earlier messages, which the first text may contain, nor
    experiences count."""
    own = embedded and replace(embedded, vectors=embedded.vectors[reading.own :])
    best = max((item.judged.by_itself for item in ranked), default=0.0)
    return is_small_talk(asked.message, own, best, goes_on=reading.own > 0)


def _explain_all(
    placed: Placed, needed: Sequence[Needed], texts: Sequence[str]
) -> tuple[Selected, ...]:
    """Explain the selected capabilities, best first."""
    selected = [_explain(item, twins, texts) for item, twins in placed]
    selected += [_explain_needed(item) for item in needed]
    return tuple(sorted(selected, key=lambda item: -item.score))


def _explain(item: Ranked, twins: Sequence[Ranked], texts: Sequence[str]) -> Selected:
    return _selected(
        item.candidate,
        score=item.score,
        reasons=reasons_for(item, texts=texts),
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
    own = dict(zip(_COPIED, _copied(candidate), strict=True))
    return Selected(**own | {"tags": tuple(candidate.tags)}, score=round(score, 4), **why)


def _answer(
    ranked: Sequence[Ranked],
    selected: tuple[Selected, ...],
    candidates: Candidates,
    degraded: tuple[str, ...],
    timings: dict[str, float],
) -> Selection:
    excluded = candidates.usable - len(selected)
    return Selection(
        selected=selected,
        core_included=tuple(item.full_name for item in selected if item.core),
        excluded_count=excluded,
        reason=_summary(selected, excluded),
        discovery_suggested=excluded > 0,
        direct=_direct(ranked, selected, candidates),
        degraded=degraded,
        tokens_all=candidates.tokens,
        tokens_selected=sum(item.tokens for item in selected),
        timings=timings,
        ranking=tuple(item.candidate.identifier for item in ranked[:LENGTH_OF_RANKING]),
    )


def _direct(
    ranked: Sequence[Ranked], selected: Sequence[Selected], candidates: Candidates
) -> str | None:
    """Return the capability that is far ahead, if it runs without approval and needs no arguments.

    Experiences do not count, since no model checks this choice.
    """
    if not selected or not is_direct([item.judged.by_itself for item in ranked]):
        return None
    best = max(ranked, key=lambda item: item.judged.by_itself).candidate
    if best.pk != selected[0].pk:
        return None
    links = (link for link in candidates.links if link.kind == DEPENDS_ON and link.weight > 0)
    schema: dict[str, Any] = best.input_schema or {}
    needs = schema.get("required") or any(link.source == best.pk for link in links)
    runs = best.available and not best.asks_first and best.side_effect == "read"
    return best.full_name if runs and not needs else None


def _summary(selected: Sequence[Selected], excluded: int) -> str:
    """Summarize the answer in one or two sentences for people."""
    fitting = [item for item in selected if not item.pinned and not item.needed_by]
    if not fitting:
        return "Nothing that you may use fits this message; it may need no tool."
    more = f" {excluded} more can be found with the discovery tool." if excluded else ""
    return f"{len(fitting)} of what you may use fit this message.{more}"
