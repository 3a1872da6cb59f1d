"""Reasons and evidence of a selected capability. Only reasons with evidence are given."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from catalog.lexical import words
from catalog.models.relation import Kind
from discovery.select._candidate_rows import Candidate, Candidates
from discovery.select.ranking.competition import Needed, Ranked
from discovery.select.ranking.thresholds import is_direct
from discovery.select.selection import Selected

# Choice of the one tool that needs no model to choose it, if there is one.

_NUMBER = re.compile(r"\d")
# Days are said in words, too.
_DAY = re.compile(
    r"\d|\b(?:today|tonight|tomorrow|yesterday|now|noon|midnight"
    r"|(?:this|next|last) (?:week|month|year)|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
    re.IGNORECASE,
)
_DAYS = frozenset(("date", "date-time", "time"))


def find_direct(
    message: str, ranked: Sequence[Ranked], selected: Sequence[Selected], candidates: Candidates
) -> str | None:
    """Return the full name of a capability that is far ahead, runs without approval, and whose
    required arguments the message holds.

    Experiences do not count, since no model checks this choice.
    """
    if not selected or not is_direct([item.judged.by_itself for item in ranked]):
        return None
    best = max(ranked, key=lambda item: item.judged.by_itself).candidate
    if best.pk != selected[0].pk:
        return None
    needs_another = any(
        relation.source == best.pk and relation.kind == Kind.DEPENDS_ON and relation.weight > 0
        for relation in candidates.relations
    )
    runs = best.readiness.runs_unasked and best.side_effect == "read"
    return best.full_name if runs and not needs_another and _has_arguments(message, best) else None


def _has_arguments(message: str, tool: Candidate) -> bool:
    schema: Mapping[str, Any] = tool.input_schema or {}
    required, properties = schema.get("required"), schema.get("properties")
    if not isinstance(required, list) or not isinstance(properties, dict):
        return not required
    needed = [properties.get(name) or {} for name in required]
    needed = [argument for argument in needed if "default" not in argument]
    # Each takes an informative word that does not say which tool is meant.
    naming = words(f"{tool.full_name.replace('_', ' ')} {tool.display_name} {tool.description}")
    values = set(words(message)).difference(naming)
    return len(needed) <= len(values) and all(_is_said(message, argument) for argument in needed)


def _is_said(message: str, argument: Mapping[str, Any]) -> bool:
    """Return True if the message may hold a value of the argument; False where it must be built."""
    values = argument.get("enum")
    if isinstance(values, list):
        return any(set(words(message)).issuperset(words(str(value)) or [""]) for value in values)
    kind, form = argument.get("type"), argument.get("format")
    if kind in {"integer", "number"}:
        return _NUMBER.search(message) is not None
    if kind == "array" and isinstance(argument.get("items"), dict):
        return _is_said(message, argument["items"])
    if kind != "string":
        return False
    return form not in _DAYS or _DAY.search(message) is not None


# Cosine from which "its description matches" is a fair statement.
MIN_COSINE = 0.25
LONGEST_QUOTE = 60
# Gains below this are too small to mention.
MIN_GAIN = 0.01


# A message's words as written, each with its place, by stem.
MessageWords = dict[str, list[tuple[int, str]]]


def message_words(message: str) -> MessageWords:
    """Return the message's words, each once."""
    bare = dict.fromkeys(word.strip(".,;:!?\"'()") for word in message.split())
    by_stem: MessageWords = {}
    for place, word in enumerate(bare):
        for stem in _stems(word):
            by_stem.setdefault(stem, []).append((place, word))
    return by_stem


def reasons_for(
    item: Ranked, *, texts: Sequence[str], spoken: MessageWords, language: str | None
) -> tuple[str, ...]:
    """Return the reasons, strongest first; `texts` are the message and its clauses, `spoken` the
    words of the message, `language` the active one."""
    candidate = item.candidate
    reasons = [
        _("Named in the message") if item.exact_name else "",
        _meaning(candidate, texts, language),
        _shared_words(candidate, spoken, language),
        _("Used before for similar messages") if item.judged.used >= MIN_GAIN else "",
        _("Related to %(tool)s, which also matches") % {"tool": raised_by(item)}
        if raised_by(item)
        else "",
        _("Put forward by the chat model") if item.advised >= MIN_GAIN else "",
        *_flags(candidate),
    ]
    texts_of_reasons = tuple(reason for reason in reasons if reason)
    return texts_of_reasons or (
        _("Best available match, relevance %(score).2f") % {"score": item.score},
    )


def raised_by(item: Ranked) -> str:
    """Return the related result that noticeably raised the score, or ""."""
    return item.partner if item.gained >= MIN_GAIN else ""


def reasons_for_needed(item: Needed) -> tuple[str, ...]:
    """Return the reasons of a dependency."""
    because = _("Used together with %(tool)s") if item.composed else _("Required by %(tool)s")
    return (because % {"tool": item.parent}, *filter(None, _flags(item.candidate)))


def _flags(candidate: Candidate) -> tuple[str, str, str]:
    return (
        _("Core tool") if candidate.core else "",
        _("Pinned: always included") if candidate.pinned else "",
        _("Each call needs approval") if candidate.asks_first else "",
    )


def evidence_for(item: Ranked) -> dict[str, float]:
    """Return the score's shares by kind of evidence; they add up to the score."""
    more = {"use": item.judged.used, "graph": item.gained, "advice": item.advised}
    others = {kind: round(share, 4) for kind, share in more.items() if share >= 0.0001}
    own_score = item.judged.score - others.get("use", 0.0)
    if item.exact_name:
        return {"name": round(own_score, 4), **others}
    meaning, worded = max(item.judged.meaning, 0.0), max(item.judged.words, 0.0)
    if not meaning + worded:  # nothing but the scale's base value, counted as meaning
        meaning = 1.0
    whole = meaning + worded
    shares = {"meaning": meaning / whole, "words": worded / whole}
    return {kind: round(own_score * share, 4) for kind, share in shares.items() if share} | others


def _meaning(candidate: Candidate, texts: Sequence[str], language: str | None) -> str:
    """Name the part of the message that the description matches, preferably a clause."""
    near = [
        (cosine, text) for cosine, text in zip(candidate.cosines, texts, strict=False) if cosine
    ]
    if not near or max(near)[0] < MIN_COSINE:
        return ""
    nearest = max(near[1:] or near)
    return _matches(language) % {"text": _quoted(nearest[1])}


@lru_cache(maxsize=16)
def _matches(language: str | None) -> str:
    """Return the sentence in the language that is active: each tool of each answer has it."""
    return _("Matches “%(text)s”")


def _shared_words(candidate: Candidate, spoken: MessageWords, language: str | None) -> str:
    """Return the message's words that also occur in the name, description or tags."""
    if not candidate.words or candidate.words[0] <= 0:
        return ""
    fields = (candidate.action, candidate.integration, candidate.description, *candidate.tags)
    stems = _stems(" ".join(fields)).intersection(spoken)
    shared = sorted({word for stem in stems for word in spoken[stem]})[:4]
    if not shared:
        return ""
    return _keywords(language, len(shared)) % {"words": ", ".join(w for _, w in shared)}


@lru_cache(maxsize=64)
def _keywords(language: str | None, count: int) -> str:
    return ngettext("Keyword: %(words)s", "Keywords: %(words)s", count)


@lru_cache(maxsize=8192)
def _stems(text: str) -> frozenset[str]:
    """Return the stems of a tool's text or a word; the same ones come again and again."""
    return frozenset(words(text))


def _quoted(text: str) -> str:
    return text if len(text) <= LONGEST_QUOTE else text[: LONGEST_QUOTE - 1].rsplit(" ", 1)[0] + "…"
