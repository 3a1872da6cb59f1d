"""Evidence of the flags: what reaches outside, whose text comes back, whose data is read.

Words decide, and each flag needs two of them: something done, and something it is done to.
"""

from collections.abc import Iterable, Iterator, Set

from catalog.effects import vocabulary
from catalog.effects.assessment import Effect, Evidence, Flag, Source
from catalog.effects.definition_words import (
    Classifiable,
    first_sentence,
    name_words,
    property_names,
)
from catalog.effects.verbs import find_verb

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
_Words = list[str]


def flag_evidence(definition: Classifiable, *, effect: Effect) -> dict[Flag, tuple[Evidence, ...]]:
    """Return the evidence of each flag that has some."""
    name, sentence = name_words(definition.action), first_sentence(definition.description)
    arguments = [key.lower() for key in property_names(definition.input_schema)]
    found: dict[Flag, tuple[Evidence, ...]] = {}
    if effect != "read":
        found["reaches_outside"] = tuple(_outside(definition, name, sentence, arguments))
    found["returns_foreign_text"] = tuple(_foreign(effect, name, sentence, arguments))
    found["reads_private_data"] = tuple(_private(effect, name, sentence, arguments))
    return {flag: evidence for flag, evidence in found.items() if evidence}


def _outside(
    definition: Classifiable, name: _Words, sentence: _Words, arguments: _Words
) -> Iterator[Evidence]:
    for source, words in (("name", name), ("description", sentence[:12])):
        if verb := _sending_verb(words, set(name) | set(sentence)):
            yield _claim("name" if source == "name" else "description", "reaches_outside", verb)
    if recipient := _first(arguments, vocabulary.RECIPIENTS):
        yield _claim("schema", "reaches_outside", recipient)
    if definition.annotations.get("openWorldHint") is True:
        yield _claim("annotations", "reaches_outside", "openWorldHint")


def _sending_verb(words: _Words, around: Set[str]) -> str:
    """Return the first verb that sends something out, or one that does with its object."""
    for at, word in enumerate(words):
        verb = find_verb(word)
        base = verb.base if verb else word
        if at == 0 and base in vocabulary.SENDING:
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
        or set(name) & vocabulary.NOT_FOREIGN
        or "official" in sentence[:14]
        or _computes(name, sentence)
    ):
        return
    if word := _first(name, vocabulary.FOREIGN):
        yield _claim("name", "returns_foreign_text", word)
    if word := _first(sentence[:14], vocabulary.FOREIGN):
        yield _claim("description", "returns_foreign_text", word)
    if word := _first(arguments, vocabulary.FOREIGN_ARGUMENTS):
        yield _claim("schema", "returns_foreign_text", word)


def _private(
    effect: Effect, name: _Words, sentence: _Words, arguments: _Words
) -> Iterator[Evidence]:
    if _runs_code(name, sentence):
        yield _claim("name", "reads_private_data", "execute")
    if effect not in ("read", "unknown") or _computes(name, sentence):
        return
    if own := _own(sentence):
        yield _claim("description", "reads_private_data", own)
    if (set(name) | set(sentence)) & vocabulary.PUBLIC:
        return
    if word := _first(name, vocabulary.PRIVATE):
        yield _claim("name", "reads_private_data", word)
    if word := _first(sentence[:14], vocabulary.PRIVATE):
        yield _claim("description", "reads_private_data", word)
    if word := _first(arguments, vocabulary.OWN_PLACES):
        yield _claim("schema", "reads_private_data", word)


def _computes(name: _Words, sentence: _Words) -> bool:
    """Return True if it works on its arguments alone, by its name's verb or else its sentence's."""
    verbs = (find_verb(word) for word in (*name[:1], *sentence[:1]))
    # "get" says nothing of what is done: get_square_root.
    first = next((verb for verb in verbs if verb and verb.base != "get"), None)
    return first is not None and first.base in vocabulary.COMPUTING


def _runs_code(name: _Words, sentence: _Words) -> bool:
    words = {*name, *sentence[:8]}
    verbs = (find_verb(word) for word in words)
    return bool(words & vocabulary.CODE) and any(
        verb and verb.base in vocabulary.RUNNING for verb in verbs
    )


def _own(sentence: _Words) -> str:
    for at, word in enumerate(sentence):
        if word in vocabulary.OWN and (
            noun := _first(sentence[at + 1 : at + 1 + _SOON], vocabulary.PRIVATE)
        ):
            return noun
    return ""


def _first(words: Iterable[str], wanted: Set[str]) -> str:
    return next((word for word in words if word in wanted), "")


def _claim(source: Source, flag: Flag, quote: str) -> Evidence:
    return Evidence(source, flag, 1.0, quote)
