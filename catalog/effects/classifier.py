"""The classifier: a pure function from a definition to its assessment."""

from collections.abc import Iterable, Iterator, Sequence, Set
from math import exp

from catalog.effects import _vocabulary
from catalog.effects._evidence import (
    Classifiable,
    effect_evidence,
    first_sentence,
    property_names,
)
from catalog.effects.assessment import KNOWN, Assessment, Effect, Evidence, Flag, Source
from catalog.effects.verbs import find_verb
from catalog.formats.descriptors import Descriptor
from catalog.readiness.readiness import SURE
from catalog.words.names import tool_words

# Evidence of the flags: what reaches outside, whose text comes back, whose data is read.
# Words decide, and each flag needs two of them: something done, and something it is done to.

# Verbs that do so only with one of these objects.
_OUTGOING_OBJECTS: dict[str, str] = {
    "create": "ad ads campaign comment email emails invitation invoice message order payment post "
    "reply transaction tweet webhook",
    "add": "comment reply reaction",
    "upload": "video post media story",
    "transfer": "fund funds money token tokens amount erc20 sol eth coin coins balance from to",
    "book": "ticket tickets ride flight hotel room table appointment taxi cab trip tour",
    "schedule": "delivery pickup post tweet meeting email message",
    "place": "order orders bid bet trade",
    "cancel": "order orders",
    "modify": "order orders",
    "edit": "message post comment tweet",
    "share": "file document link post folder screen location album playlist",
    "swap": "token tokens coin",
    "withdraw": "fund funds token tokens crypto",
    "merge": "pull pr",
    "execute": "command shell code bash terminal trade order transaction swap",
    "run": "command shell bash terminal campaign",
    "automate": "advertising ads email emails",
    "start": "scan campaign call",
    "click": "element button link page selector web",
    "fill": "form input field element page selector",
    "type": "element input page selector",
    "act": "page web browser element",
    "perform": "page web browser action",
}
_OUTGOING = {verb: frozenset(objects.split()) for verb, objects in _OUTGOING_OBJECTS.items()}
_SOON = 3
_Words = Sequence[str]


def flag_evidence(definition: Classifiable, *, effect: Effect) -> dict[Flag, tuple[Evidence, ...]]:
    """Return the evidence of each flag that has some."""
    name, sentence = tool_words(definition.action), first_sentence(definition.description)
    arguments = [key.lower() for key in property_names(definition.input_schema)]
    flags: dict[Flag, tuple[Evidence, ...]] = {}
    if effect != "read":
        flags["reaches_outside"] = tuple(_outside(definition, name, sentence, arguments))
    flags["returns_foreign_text"] = tuple(_foreign(effect, name, sentence, arguments))
    flags["reads_private_data"] = tuple(_private(effect, name, sentence, arguments))
    return {flag: evidence for flag, evidence in flags.items() if evidence}


def _outside(
    definition: Classifiable, name: _Words, sentence: _Words, arguments: _Words
) -> Iterator[Evidence]:
    for source, words in (("name", name), ("description", sentence[:12])):
        if verb := _sending_verb(words, set(name) | set(sentence)):
            yield _claim("name" if source == "name" else "description", "reaches_outside", verb)
    if recipient := _first(arguments, _vocabulary.RECIPIENTS):
        yield _claim("schema", "reaches_outside", recipient)
    if definition.annotations.get("openWorldHint") is True:
        yield _claim("annotations", "reaches_outside", "openWorldHint")


def _sending_verb(words: _Words, around: Set[str]) -> str:
    """Return the first verb that sends something out, or one that does with its object."""
    for at, word in enumerate(words):
        verb = find_verb(word)
        base = verb.base if verb else word
        if at == 0 and base in _vocabulary.SENDING:
            return base
        if base in ("send", "tweet", "publish", "notify", "reply", "pay", "donate", "purchase"):
            return base
        if around & _OUTGOING.get(base, frozenset()):
            return base
    return ""


def _foreign(
    effect: Effect, name: _Words, sentence: _Words, arguments: _Words
) -> Iterator[Evidence]:
    if (
        effect not in ("read", "unknown")
        or set(name) & _vocabulary.NOT_FOREIGN
        or "official" in sentence[:14]
        or _computes(name, sentence)
    ):
        return
    if word := _first(name, _vocabulary.FOREIGN):
        yield _claim("name", "returns_foreign_text", word)
    if word := _first(sentence[:14], _vocabulary.FOREIGN):
        yield _claim("description", "returns_foreign_text", word)
    if word := _first(arguments, _vocabulary.FOREIGN_ARGUMENTS):
        yield _claim("schema", "returns_foreign_text", word)


def _private(
    effect: Effect, name: _Words, sentence: _Words, arguments: _Words
) -> Iterator[Evidence]:
    words = {*name, *sentence[:8]}
    verbs = (find_verb(word) for word in words)
    if bool(words & _vocabulary.CODE) and any(
        verb and verb.base in _vocabulary.RUNNING for verb in verbs
    ):
        yield _claim("name", "reads_private_data", "execute")
    if effect not in ("read", "unknown") or _computes(name, sentence):
        return
    if phrase := _own(sentence):
        yield _claim("description", "reads_private_data", phrase)
    if (set(name) | set(sentence)) & _vocabulary.PUBLIC:
        return
    if word := _first(name, _vocabulary.PRIVATE):
        yield _claim("name", "reads_private_data", word)
    if word := _first(sentence[:14], _vocabulary.PRIVATE):
        yield _claim("description", "reads_private_data", word)
    if word := _first(arguments, _vocabulary.OWN_PLACES):
        yield _claim("schema", "reads_private_data", word)


def _computes(name: _Words, sentence: _Words) -> bool:
    """Return True if it works on its arguments alone, by its name's verb or else its sentence's."""
    verbs = (find_verb(word) for word in (*name[:1], *sentence[:1]))
    # "get" says nothing of what is done: get_square_root.
    first = next((verb for verb in verbs if verb and verb.base != "get"), None)
    return first is not None and first.base in _vocabulary.COMPUTING


def _own(sentence: _Words) -> str:
    for at, word in enumerate(sentence):
        if word in _vocabulary.OWN and (
            noun := _first(sentence[at + 1 : at + 1 + _SOON], _vocabulary.PRIVATE)
        ):
            return noun
    return ""


def _first(words: Iterable[str], choices: Set[str]) -> str:
    return next((word for word in words if word in choices), "")


def _claim(source: Source, flag: Flag, quote: str) -> Evidence:
    return Evidence(source, flag, 1.0, quote)


# Log-odds without any evidence: most tools without a telling word change something.
_PRIOR: dict[Effect, float] = {"read": 0.0, "write": 0.4, "delete": -0.6}
# Evidence of a change at this weight, such as a name's second verb, allows no `read`.
_CONTRADICTS = 1.8
_CLASSIFIED_KINDS = ("tool", "emergent-tool")


def assess(definition: Classifiable, *, declared: str = "") -> Assessment:
    """Assess a definition. What its source declares, or an admin has chosen, wins over words."""
    if declared or definition.kind not in _CLASSIFIED_KINDS:
        effect, confidence = as_effect(declared), 1.0
        # Build the evidence of an effect that is given: a skill reads because it is a text.
        evidence: tuple[Evidence, ...] = (
            Evidence("declared", effect, 1.0)
            if definition.kind in _CLASSIFIED_KINDS
            else Evidence("kind", effect, 1.0, definition.kind),
        )
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
    gathered = list(evidence)
    chances = {effect: round(chance, 2) for effect, chance in _chances(gathered).items()}
    if any(item.says == "delete" and item.quote == "destructiveHint" for item in gathered):
        return "delete", max(chances["delete"], SURE)
    best = as_effect(max(chances, key=lambda effect: chances[effect]))
    confidence = chances[best]
    # The strongest evidence of a change that no reading verb outweighs. "get_report" that "sends
    # the report" is no read, however many words say so.
    changes = [item for item in gathered if item.says != "read" and item.weight >= _CONTRADICTS]
    conflict = max(changes, key=lambda item: item.weight, default=None)
    if conflict and best in ("read", "delete") and conflict.says == "delete":
        return "delete", chances["delete"]
    if conflict and best == "read":
        return "unknown", chances[conflict.says]
    if best == "read":
        by_words = _chances([item for item in gathered if item.source != "annotations"])["read"]
        if by_words < SURE:
            confidence = min(confidence, SURE - 0.05)
    elif chances["read"] < 1 - KNOWN and any(item.says == best for item in gathered):
        return best, confidence  # it changes something, whichever of the two
    return best if confidence >= KNOWN else "unknown", confidence


def _chances(evidence: Iterable[Evidence]) -> dict[str, float]:
    """Return the probability of each effect, from the sums of the weights."""
    scores = {str(effect): score for effect, score in _PRIOR.items()}
    for item in evidence:
        scores[item.says] += item.weight
    highest = max(scores.values())
    parts = {effect: exp(score - highest) for effect, score in scores.items()}
    return {effect: part / sum(parts.values()) for effect, part in parts.items()}


def as_effect(value: str) -> Effect:
    """Return a stored value as an effect."""
    for effect in _PRIOR:
        if value == effect:
            return effect
    return "unknown"
