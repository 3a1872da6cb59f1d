"""The classifier: a pure function from a definition to its assessment."""

from collections.abc import Iterable
from math import exp

from catalog.effects.assessment import KNOWN, SURE, Assessment, Effect, Evidence
from catalog.effects.definition_words import Classifiable
from catalog.effects.effect_evidence import effect_evidence
from catalog.effects.flag_evidence import flag_evidence
from catalog.formats.descriptors import Descriptor

# Log-odds without any evidence: most tools without a telling word change something.
_PRIOR: dict[Effect, float] = {"read": 0.0, "write": 0.4, "delete": -0.6}
# Evidence of a change at this weight, such as a name's second verb, allows no `read`.
_CONTRADICTS = 1.8
_CLASSIFIED_KINDS = ("tool", "emergent-tool")


def assess(definition: Classifiable, *, declared: str = "") -> Assessment:
    """Assess a definition. What its source declares, or an admin has chosen, wins over words."""
    if declared or definition.kind not in _CLASSIFIED_KINDS:
        effect, confidence = as_effect(declared), 1.0
        evidence: tuple[Evidence, ...] = (_given(definition.kind, effect),)
    else:
        evidence = effect_evidence(definition)
        effect, confidence = decide(evidence)
    return Assessment(effect, confidence, evidence, flag_evidence(definition, effect=effect))


def declared_effect(descriptor: Descriptor) -> str:
    """Return the effect that a descriptor's source declares, or ""."""
    return "" if descriptor.side_effect_inferred else descriptor.side_effect


def decide(evidence: Iterable[Evidence]) -> tuple[Effect, float]:
    """Return the effect and its confidence.

    Confidence in `read` that words alone do not reach stays below SURE: a server's own hint must
    not lower what needs approval.
    """
    found = list(evidence)
    chances = {effect: round(chance, 2) for effect, chance in _chances(found).items()}
    if any(one.says == "delete" and one.quote == "destructiveHint" for one in found):
        return "delete", max(chances["delete"], SURE)
    best = as_effect(max(chances, key=lambda effect: chances[effect]))
    confidence = chances[best]
    conflict = _strongest_change(found)
    if conflict and best in ("read", "delete") and conflict.says == "delete":
        return "delete", chances["delete"]
    if conflict and best == "read":
        return "unknown", chances[conflict.says]
    if best == "read":
        by_words = _chances([one for one in found if one.source != "annotations"])["read"]
        if by_words < SURE:
            confidence = min(confidence, SURE - 0.05)
    elif chances["read"] < 1 - KNOWN and any(one.says == best for one in found):
        return best, confidence  # it changes something, whichever of the two
    return best if confidence >= KNOWN else "unknown", confidence


def _strongest_change(evidence: Iterable[Evidence]) -> Evidence | None:
    """Return the strongest evidence of a change that no reading verb outweighs.

    "get_report" that "sends the report" is no read, however many words say so.
    """
    changes = [one for one in evidence if one.says != "read" and one.weight >= _CONTRADICTS]
    return max(changes, key=lambda one: one.weight, default=None)


def _given(kind: str, effect: Effect) -> Evidence:
    """Build the evidence of an effect that is given: a skill reads because it is a text."""
    if kind in _CLASSIFIED_KINDS:
        return Evidence("declared", effect, 1.0)
    return Evidence("kind", effect, 1.0, kind)


def _chances(evidence: Iterable[Evidence]) -> dict[str, float]:
    """Return the probability of each effect, from the sums of the weights."""
    scores = {str(effect): score for effect, score in _PRIOR.items()}
    for one in evidence:
        scores[one.says] += one.weight
    highest = max(scores.values())
    parts = {effect: exp(score - highest) for effect, score in scores.items()}
    return {effect: part / sum(parts.values()) for effect, part in parts.items()}


def as_effect(value: str) -> Effect:
    """Return a stored value as an effect."""
    for effect in _PRIOR:
        if value == effect:
            return effect
    return "unknown"
