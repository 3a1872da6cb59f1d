"""Reasons and evidence of a selected capability. Only reasons with evidence are given."""

from collections.abc import Sequence

from catalog.lexical import words
from discovery.select.candidates import Candidate
from discovery.select.ranking.competition import Needed, Ranked

# Cosine from which "its description matches" is a fair statement.
MIN_COSINE = 0.25
LONGEST_QUOTE = 60
# Gains below this are too small to mention.
MIN_GAIN = 0.01


def reasons_for(item: Ranked, *, texts: Sequence[str]) -> tuple[str, ...]:
    """Return the reasons, strongest first; `texts` are the message and its clauses."""
    candidate = item.candidate
    reasons = [
        "its name is in the message" if item.exact_name else "",
        _meaning(candidate, texts),
        _shared_words(candidate, texts[0]),
        "used before for messages like this one" if item.judged.used >= MIN_GAIN else "",
        f"is related to {raised_by(item)}, which fits too" if raised_by(item) else "",
        *_flags(candidate),
    ]
    given = tuple(reason for reason in reasons if reason)
    return given or (f"the nearest that there is, with a relevance of {item.score:.2f}",)


def raised_by(item: Ranked) -> str:
    """Return the related result that noticeably raised the score, or ""."""
    return item.partner if item.gained >= MIN_GAIN else ""


def reasons_for_needed(item: Needed) -> tuple[str, ...]:
    """Return the reasons of a dependency."""
    because = "used together with" if item.composed else "needed by"
    return (f"{because} {item.parent}", *filter(None, _flags(item.candidate)))


def _flags(candidate: Candidate) -> tuple[str, str, str]:
    return (
        "core tool" if candidate.core else "",
        "pinned: part of every selection" if candidate.pinned else "",
        "asks first: a person approves each call" if candidate.asks_first else "",
    )


def evidence_for(item: Ranked) -> dict[str, float]:
    """Return the score's shares by kind of evidence; they add up to the score."""
    more = {"use": item.judged.used, "graph": item.gained}
    others = {kind: round(share, 4) for kind, share in more.items() if share >= 0.0001}
    own = item.judged.score - others.get("use", 0.0)
    if item.exact_name:
        return {"name": own, **others}
    meaning, worded = max(item.judged.meaning, 0.0), max(item.judged.words, 0.0)
    if not meaning + worded:  # nothing but the scale's base value, counted as meaning
        meaning = 1.0
    whole = meaning + worded
    shares = {"meaning": meaning / whole, "words": worded / whole}
    return {kind: round(own * share, 4) for kind, share in shares.items() if share} | others


def _meaning(candidate: Candidate, texts: Sequence[str]) -> str:
    """Name the part of the message that the description matches, preferably a clause."""
    near = [
        (cosine, text) for cosine, text in zip(candidate.cosines, texts, strict=False) if cosine
    ]
    if not near or max(near)[0] < MIN_COSINE:
        return ""
    _, text = max(near[1:] or near)
    return f"its description matches “{_quoted(text)}”"


def _shared_words(candidate: Candidate, message: str) -> str:
    """Return the message's words that also occur in the name, description or tags."""
    if not candidate.words or candidate.words[0] <= 0:
        return ""
    own = (candidate.action, candidate.integration, candidate.description, *candidate.tags)
    known, seen = set(words(" ".join(own))), []
    for word in message.split():
        bare = word.strip(".,;:!?\"'()")
        if bare and bare not in seen and known.intersection(words(bare)):
            seen.append(bare)
    return f"shares the words {', '.join(seen[:4])}" if seen else ""


def _quoted(text: str) -> str:
    return text if len(text) <= LONGEST_QUOTE else text[: LONGEST_QUOTE - 1].rsplit(" ", 1)[0] + "…"
