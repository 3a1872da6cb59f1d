"""Competition of candidates: names, evidence, relevance, relations, places."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from catalog.embedding.query_vectors import EmbeddedTexts
from catalog.models import Capability
from catalog.models.relation import Kind
from catalog.readiness.obstacles import Obstacle
from discovery.learning.memory import PastUse
from discovery.select._candidate_rows import Candidate, Candidates
from discovery.select.ranking import relation_gains, thresholds
from discovery.select.ranking.fit import need_of_tools, something_fits
from discovery.select.ranking.fusion import (
    NAMED,
    Judged,
    MessageFeatures,
    judge_columns,
    scale_of,
)
from discovery.select.ranking.thresholds import margin

# Capabilities that need evidence of their own: those that delete or pay.
# A wrong one does harm that cannot be undone, so no relation brings it into an answer.

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_DELETE = str(Capability.SideEffect.DELETE)
# Tools about tools share words with every list and search ("what's on my list"), and so lose more
# than lies between two lists, and less than between them and all others for who asks about tools.
_DISCOVERY, COST_OF_DISCOVERY = "discovery", 0.06
_PAYS = frozenset(
    """buy charge checkout donate order pay payment payout payouts purchase refund remit rent
    sell subscribe tip transfer wire withdraw""".split()  # noqa: SIM905
)


class DescribedCandidate(Protocol):
    """Evidence from the name and the metadata of a capability."""

    @property
    def action(self) -> str: ...
    @property
    def side_effect(self) -> str: ...


def needs_own_evidence(capability: DescribedCandidate) -> bool:
    """Return True if it deletes, or if it changes something and its name says that it pays."""
    if capability.side_effect == _DELETE:
        return True
    words = (word.lower() for word in _WORD.findall(capability.action))
    return capability.side_effect != Capability.SideEffect.READ and not _PAYS.isdisjoint(words)


# Names as people and models write them: two parts or more. Possessive quantifiers and the
# lookbehind make each run of letters scan once; otherwise 8,000 letters would be scanned 8,000
# times.
_NAME = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]++(?:[_-]++[A-Za-z0-9]++)+")


class Ranked(NamedTuple):
    """A ranked candidate: its judgement, and its gain by a related result."""

    candidate: Candidate
    judged: Judged
    exact_name: bool
    gained: float = 0.0
    partner: str = ""
    advised: float = 0.0  # what a chat model's order adds or takes

    @property
    def score(self) -> float:
        """Return the relevance, from 0 to 1."""
        return self.judged.score + self.gained + self.advised


class Needed(NamedTuple):
    """A dependency or companion of the selected capability `parent` (a full name)."""

    candidate: Candidate
    score: float
    parent: str
    composed: bool  # used together with the parent rather than needed by it


Placed = list[tuple[Ranked, list[Ranked]]]


def names_in(message: str) -> set[str]:
    """Return possible names in the message. A message of one word may itself be a name."""
    return {*_NAME.findall(message), message.strip()}


def rank(
    candidates: Sequence[Candidate],
    *,
    texts: Sequence[str],
    names: set[str],
    use: PastUse,
    servers: Mapping[int, tuple[float, ...]],
    model: str,
    costs: Mapping[str, float],
    goes_on: bool = False,
) -> list[Ranked]:
    """Rank candidates, best first; ties are sorted by name to be deterministic.

    By primary key, `servers` has the cosines of the servers' means. `model` embedded the texts; ""
    without one. `costs` is what tools lose by their side effect; `goes_on` is True where the first
    text contains an earlier message.
    """
    if not candidates:
        return []
    # True if the message names it. `list` alone is a word, not an action's name.
    exact = [
        candidate.full_name in names
        or (candidate.action in names and _NAME.fullmatch(candidate.action) is not None)
        for candidate in candidates
    ]
    unknown = [None] * len(texts)
    keys = [candidate.pk for candidate in candidates]
    columns = (
        [candidate.cosines or unknown for candidate in candidates],
        [candidate.words for candidate in candidates],
        exact,
        [use.bonuses.get(key, 0.0) for key in keys],
        [servers.get(key, ()) for key in keys],
        [
            max(
                costs.get(candidate.side_effect, 0.0),
                COST_OF_DISCOVERY if candidate.category == _DISCOVERY else 0.0,
            )
            for candidate in candidates
        ],
        [use.sure.get(key, 0.0) for key in keys],
    )
    features = MessageFeatures.of(texts[0], texts[1:], goes_on=goes_on)
    judged = judge_columns(columns, features, scale_of(model))
    return _sorted(map(Ranked, candidates, judged, exact))


class Support(NamedTuple):
    """Evidence for the best candidates as a whole.

    `enough` is False if nothing fits. `by_words` is True if only words speak for them. `share` of
    the best's odds is worth a place, and grows with each that is given.
    """

    enough: bool
    by_words: bool
    share: float
    growth: float

    def least(self, ranked: Sequence[Ranked]) -> float:
        """Return the lowest score that is worth a place. Twins count once."""
        twins = {item.candidate.fingerprint: item.judged.score for item in reversed(ranked)}
        return thresholds.cut(
            list(twins.values()),
            by_words=self.by_words,
            share=self.share,
            growth=self.growth,
        )


def support_of(
    ranked: Sequence[Ranked],
    use: PastUse,
    background: Sequence[float] | None,
    embedded: EmbeddedTexts | None,
    *,
    words: int,
    foreign: bool = False,
) -> Support:
    """Judge the best candidates; the message has so many informative words.

    A name in the message is enough, and so is a call that went well for a message of this kind.
    """
    rows = [item.candidate.cosines for item in ranked]
    # The best may be there by its words alone, not embedded yet; then nothing is known about it.
    distance = margin(rows, background) if rows and None not in rows[0] else None
    has_evidence = bool(use.sure) or any(item.exact_name for item in ranked)
    scale = scale_of(embedded.model if embedded else "")
    clauses = len(ranked[0].judged.clause_scores) if ranked else 0
    enough = has_evidence or something_fits(
        [item.judged for item in ranked],
        [max(item.candidate.words) for item in ranked],
        distance,
        scale,
        words=words,
        need=need_of_tools(embedded),
        foreign=foreign,
    )
    return Support(enough, distance is None, scale.share(clauses), scale.growth(clauses))


def rerank(
    ranked: Sequence[Ranked],
    relations: Sequence[relation_gains.RankedRelation],
    *,
    least: float,
    boost: float,
) -> list[Ranked]:
    """Rank again after related results have gained; irrelevant candidates stay as they are."""
    gains = (
        relation_gains.gains(_results(ranked, least), relations, boost=boost) if relations else {}
    )
    if not gains:
        return list(ranked)
    names = {item.candidate.pk: item.candidate.full_name for item in ranked}
    return _sorted(
        _with_gain(item, gains[item.candidate.pk], names) if item.candidate.pk in gains else item
        for item in ranked
    )


# Takes full names and descriptions, best first; returns the places of those to put first.
Order = Callable[[Sequence[tuple[str, str]]], Sequence[int]]
MOST_ORDERED = 20


def put_first(ranked: Sequence[Ranked], order: Order) -> list[Ranked]:
    """Rank again in an advised order of the first ones. The scores stay, by rank."""
    candidates = [item.candidate for item in ranked[:MOST_ORDERED]]
    places = order([(candidate.full_name, candidate.description) for candidate in candidates])
    others = [place for place in range(len(ranked)) if place not in set(places)]
    again = [ranked[place] for place in (*places, *others)]
    return [
        item._replace(advised=before.score - item.score)
        for item, before in zip(again, ranked, strict=True)
    ]


def _results(ranked: Sequence[Ranked], least: float) -> dict[int, float]:
    first = ranked[: relation_gains.RESULTS]
    return {
        item.candidate.pk: item.score
        for item in first
        if item.score >= least and not needs_own_evidence(item.candidate)
    }


def _with_gain(item: Ranked, gain: relation_gains.Gain, names: dict[int, str]) -> Ranked:
    """Apply a gain. A candidate that the message names stays ahead of all others."""
    score = gain.score if item.exact_name else min(gain.score, NAMED)
    return item._replace(gained=max(0.0, score - item.score), partner=names[gain.partner])


def _sorted(ranked: Iterable[Ranked]) -> list[Ranked]:
    return sorted(ranked, key=lambda item: (-item.score, item.candidate.full_name))


def give_places(
    ranked: Sequence[Ranked],
    candidates: Candidates,
    *,
    most: int,
    least: float,
    boost: float,
) -> tuple[Placed, list[Needed]]:
    """Place ranked candidates with their twins, and up to two dependencies or companions, in `most`
    places. `least` is the lowest score that is worth one."""
    fitting = {
        item.candidate.fingerprint
        for item in ranked
        if item.score >= least or item.candidate.pinned
    }
    competing = [
        _competitor(place, item)
        for place, item in enumerate(ranked)
        if item.candidate.fingerprint in fitting
    ]
    line = thresholds.line_up(competing, max_tools=most, threshold=least)
    placed = _placed(ranked, line[:most])
    if not candidates.relations or boost == 0:
        return placed, []
    needed = _needed(placed, candidates, least, boost)[: most // 2]
    if len(placed) + len(needed) > most:
        # A candidate that loses its place may be a dependency; then it returns as such.
        placed = _placed(ranked, line[: most - len(needed)])
        needed = _needed(placed, candidates, least, boost)[: len(needed)]
    return placed, needed


def _placed(ranked: Sequence[Ranked], line: Sequence[thresholds.Chosen]) -> Placed:
    return [
        (ranked[chosen.candidate.key], [ranked[alternative] for alternative in chosen.alternatives])
        for chosen in thresholds.by_relevance(line)
    ]


def _needed(placed: Placed, candidates: Candidates, least: float, boost: float) -> list[Needed]:
    """Return missing dependencies and companions of relevant placed candidates, except twins."""
    parents = {item.candidate.pk: item for item, _ in placed if item.judged.score >= least}
    fingerprints = {item.candidate.fingerprint for item, _ in placed}
    related = {end for relation in candidates.relations for end in relation[:2]}
    others = (*candidates.found, *candidates.outside)
    outside = {
        candidate.pk: candidate
        for candidate in others
        if candidate.pk in related
        and candidate.fingerprint not in fingerprints
        and not needs_own_evidence(candidate)
    }
    scores = {pk: item.score for pk, item in parents.items()}
    lowest = min(scores.values(), default=0.0)
    return [
        Needed(
            outside[pulled.key],
            min(pulled.score, lowest),
            parents[pulled.parent].candidate.full_name,
            pulled.kind == Kind.COMPOSED_WITH,
        )
        for pulled in relation_gains.pull_in(scores, outside, candidates.relations, boost=boost)
    ]


def _competitor(place: int, item: Ranked) -> thresholds.PlaceCandidate:
    return thresholds.PlaceCandidate(
        key=place,
        score=item.score,
        clause_scores=item.judged.clause_scores,
        core=item.candidate.core,
        pinned=item.candidate.pinned,
        fingerprint=item.candidate.fingerprint,
        failing=item.candidate.obstacle == Obstacle.FAILING,
    )
