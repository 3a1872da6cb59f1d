"""How candidates compete for the places of an answer: names, evidence, relevance, relations,
places."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from discovery.select.candidates import Candidate, Candidates
from discovery.select.ranking import answer_places, relation_gains
from discovery.select.ranking.fusion import NAMED, Evidence, Judged, MessageFeatures, judge
from discovery.select.ranking.scales import scale_of
from discovery.select.ranking.thresholds import cut

# What a model or a person writes when they mean a capability by its name: two parts or more.
# A run of letters is read once: the search begins at no other place in it, and gives none of it
# back. Otherwise 8,000 letters in a row are read 8,000 times.
_NAME = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]++(?:[_-]++[A-Za-z0-9]++)+")


class Ranked(NamedTuple):
    """A candidate, what it was judged by, whether the message has its name, and what it gained by
    which related result."""

    candidate: Candidate
    judged: Judged
    exact_name: bool
    gained: float = 0.0
    partner: str = ""

    @property
    def score(self) -> float:
        """Its relevance, from 0 to 1."""
        return self.judged.score + self.gained


class Needed(NamedTuple):
    """A candidate that is there because of a selected one: `parent`, by its full name."""

    candidate: Candidate
    score: float
    parent: str
    composed: bool  # used together with it rather than needed by it


Placed = list[tuple[Ranked, list[Ranked]]]


def names_in(message: str) -> set[str]:
    """What may be meant as a name; a message that is one word may be a name itself."""
    return {*_NAME.findall(message), message.strip()}


def rank(
    candidates: Sequence[Candidate],
    *,
    texts: Sequence[str],
    names: set[str],
    use: Mapping[int, float],
    model: str,
) -> list[Ranked]:
    """Best first; equal scores in the order of names, so that the answer is the same every time.

    `use` is what candidates gain by what was called before, by primary key; `model` the one that
    embedded the texts, empty without one.
    """
    exact = [_is_named(candidate, names) for candidate in candidates]
    evidence = [
        Evidence(
            tuple(candidate.cosines) or (None,) * len(texts),
            tuple(candidate.words),
            named,
            use.get(candidate.pk, 0.0),
        )
        for candidate, named in zip(candidates, exact, strict=True)
    ]
    judged = judge(evidence, MessageFeatures.of(texts[0], texts[1:]), scale_of(model))
    return _sorted(map(Ranked, candidates, judged, exact))


def rerank(
    ranked: Sequence[Ranked], links: Sequence[relation_gains.Link], *, boost: float
) -> list[Ranked]:
    """The ranking after related results have gained; whatever is not relevant by itself stays."""
    gains = relation_gains.gains(_results(ranked), links, boost=boost) if links else {}
    if not gains:
        return list(ranked)
    names = {item.candidate.pk: item.candidate.full_name for item in ranked}
    return _sorted(
        _with_gain(item, gains[item.candidate.pk], names) if item.candidate.pk in gains else item
        for item in ranked
    )


def _results(ranked: Sequence[Ranked]) -> dict[int, float]:
    least = cut([item.score for item in ranked])
    first = ranked[: relation_gains.RESULTS]
    return {item.candidate.pk: item.score for item in first if item.score >= least}


def _with_gain(item: Ranked, gain: relation_gains.Gain, names: dict[int, str]) -> Ranked:
    """What is called by its name stays before what is not."""
    score = gain.score if item.exact_name else min(gain.score, NAMED)
    return item._replace(gained=max(0.0, score - item.score), partner=names[gain.partner])


def _sorted(ranked: Iterable[Ranked]) -> list[Ranked]:
    return sorted(ranked, key=lambda item: (-item.score, item.candidate.full_name))


def give_places(
    ranked: Sequence[Ranked],
    candidates: Candidates,
    *,
    most: int,
    small_talk: bool,
    boost: float,
) -> tuple[Placed, list[Needed]]:
    """The places of the ranking, each with the same definition on other integrations; and up to two
    within `most` for what the best of them need."""
    least = cut([item.judged.score for item in ranked], small_talk=small_talk)
    competing = [_competitor(place, item) for place, item in enumerate(ranked)]
    line = answer_places.line_up(competing, max_tools=most, threshold=least)
    placed = _placed(ranked, line[:most])
    if not candidates.links or boost == 0:
        return placed, []
    needed = _needed(placed, candidates, least, boost)[: most // 2]
    if len(placed) + len(needed) > most:
        # Who goes may be what another needs; then it is back in a place of its own.
        placed = _placed(ranked, line[: most - len(needed)])
        needed = _needed(placed, candidates, least, boost)[: len(needed)]
    return placed, needed


def _placed(ranked: Sequence[Ranked], line: Sequence[answer_places.Chosen]) -> Placed:
    return [
        (ranked[chosen.candidate.key], [ranked[other] for other in chosen.alternatives])
        for chosen in answer_places.by_relevance(line)
    ]


def _needed(placed: Placed, candidates: Candidates, least: float, boost: float) -> list[Needed]:
    """What is missing beside those that were placed for their relevance; no twin of any of them."""
    parents = {item.candidate.pk: item for item, _ in placed if item.judged.score >= least}
    there = {item.candidate.fingerprint for item, _ in placed}
    linked = {end for link in candidates.links for end in link[:2]}
    others = (*candidates.found, *candidates.outside)
    outside = {
        other.pk: other for other in others if other.pk in linked and other.fingerprint not in there
    }
    scores = {pk: item.score for pk, item in parents.items()}
    lowest = min(scores.values(), default=0.0)
    return [
        Needed(
            outside[one.key],
            min(one.score, lowest),
            parents[one.parent].candidate.full_name,
            one.kind == relation_gains.COMPOSED_WITH,
        )
        for one in relation_gains.pull_in(scores, outside, candidates.links, boost=boost)
    ]


def _is_named(candidate: Candidate, names: set[str]) -> bool:
    """An action counts where it is written like a name; `list` is only a word."""
    return candidate.full_name in names or (
        candidate.action in names and _NAME.fullmatch(candidate.action) is not None
    )


def _competitor(place: int, item: Ranked) -> answer_places.Candidate:
    return answer_places.Candidate(
        key=place,
        score=item.score,
        clause_scores=item.judged.clause_scores,
        core=item.candidate.core,
        pinned=item.candidate.pinned,
        fingerprint=item.candidate.fingerprint,
    )
