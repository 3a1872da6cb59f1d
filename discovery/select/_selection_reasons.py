"""Reasons and evidence of a selected capability. Only reasons with evidence are given."""

from collections.abc import Sequence
from functools import lru_cache

from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from catalog.lexical import words
from discovery.select._candidate_rows import Candidate
from discovery.select.ranking.competition import Needed, Ranked

# Cosine from which "its description matches" is a fair statement.
MIN_COSINE = 0.25
LONGEST_QUOTE = 60
# Gains below this are too small to mention.
MIN_GAIN = 0.01


# A message's words as written, each with its stems.
MessageWords = tuple[tuple[str, frozenset[str]], ...]


def message_words(message: str) -> MessageWords:
    """Return the message's words, each once."""
    bare = dict.fromkeys(word.strip(".,;:!?\"'()") for word in message.split())
    return tuple((word, _stems(word)) for word in bare if word)


def reasons_for(item: Ranked, *, texts: Sequence[str], spoken: MessageWords) -> tuple[str, ...]:
    """Return the reasons, strongest first; `texts` are the message and its clauses, `spoken` the
    words of the message."""
    candidate = item.candidate
    reasons = [
        _("Named in the message") if item.exact_name else "",
        _meaning(candidate, texts),
        _shared_words(candidate, spoken),
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


def _meaning(candidate: Candidate, texts: Sequence[str]) -> str:
    """Name the part of the message that the description matches, preferably a clause."""
    near = [
        (cosine, text) for cosine, text in zip(candidate.cosines, texts, strict=False) if cosine
    ]
    if not near or max(near)[0] < MIN_COSINE:
        return ""
    nearest = max(near[1:] or near)
    return _matches(get_language()) % {"text": _quoted(nearest[1])}


@lru_cache(maxsize=16)
def _matches(language: str | None) -> str:
    """Return the sentence in the language that is active: each tool of each answer has it."""
    return _("Matches “%(text)s”")


def _shared_words(candidate: Candidate, spoken: MessageWords) -> str:
    """Return the message's words that also occur in the name, description or tags."""
    if not candidate.words or candidate.words[0] <= 0:
        return ""
    fields = (candidate.action, candidate.integration, candidate.description, *candidate.tags)
    stems_of_tool = _stems(" ".join(fields))
    shared = [word for word, stems in spoken if not stems_of_tool.isdisjoint(stems)][:4]
    if not shared:
        return ""
    return _keywords(get_language(), len(shared)) % {"words": ", ".join(shared)}


@lru_cache(maxsize=64)
def _keywords(language: str | None, count: int) -> str:
    return ngettext("Keyword: %(words)s", "Keywords: %(words)s", count)


@lru_cache(maxsize=8192)
def _stems(text: str) -> frozenset[str]:
    """Return the stems of a tool's text or a word; the same ones come again and again."""
    return frozenset(words(text))


def _quoted(text: str) -> str:
    return text if len(text) <= LONGEST_QUOTE else text[: LONGEST_QUOTE - 1].rsplit(" ", 1)[0] + "…"
