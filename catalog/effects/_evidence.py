"""Evidence of the effect, from each part of a definition."""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import pairwise
from typing import Any, Protocol

from catalog.effects import _vocabulary
from catalog.effects.assessment import Effect, Evidence, Source
from catalog.effects.verbs import Verb, find_base, find_inside, find_verb, is_noun_too
from catalog.words.names import split_words, tool_words

# Definitions as the classifier reads them, and their words.

# The start says what a tool does; the rest explains arguments and errors.
_MOST_DESCRIPTION = 600
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n\s*\n|\n\s*[-•*]|\bArgs:|\bParameters:|\bReturns:")


class Classifiable(Protocol):
    """The fields shared by descriptors and stored capabilities."""

    @property
    def kind(self) -> str: ...
    @property
    def action(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def input_schema(self) -> Mapping[str, Any] | None: ...
    @property
    def annotations(self) -> Mapping[str, Any]: ...


def first_sentence(description: str) -> list[str]:
    """Return the words of the first sentence with words."""
    for sentence in _SENTENCE_END.split(description.strip()[:_MOST_DESCRIPTION]):
        words = split_words(sentence or "")
        if words:
            return words[:60]
    return []


def property_names(schema: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the names of the arguments."""
    properties = (schema or {}).get("properties")
    return tuple(map(str, properties)) if isinstance(properties, Mapping) else ()


_NAME_WEIGHT, _LATER_IN_NAME, _NOUN_IN_NAME, _LONE_NOUN = 2.6, 2.2, 1.3, 1.0
_SECOND_IN_NAME = 1.8
_DESCRIPTION_WEIGHT, _LATER_IN_DESCRIPTION, _SECOND_IN_DESCRIPTION = 2.15, 1.3, 1.6
_NOUN_WEIGHT = 1.2
_CONTRADICTION = 1.8  # allows no `read`, as `classifier._CONTRADICTS` says
_FAR = 30  # words of a sentence that open with praise of the tool, before its verb
_KEPT_WEIGHT = 1.0
_REPEATED = 0.5
_PROMISE_WEIGHT, _WARNING_WEIGHT = 1.8, 1.2
_METHOD_WEIGHT = 2.2
_HINT_WEIGHT = 1.5
_WAITING_WEIGHT, _RUN_WEIGHT = 1.5, 1.2

_PROMISES = re.compile(
    r"\bread[- ]only\b|\b(?:does|do|will) not (?:modify|change|write|alter|delete)\b"
    r"|\bwithout (?:modifying|changing|altering|writing)\b|\bno side[- ]effects\b",
    re.IGNORECASE,
)
_NOT_A_PROMISE = re.compile(r"\b(?:not|non|isn't)[ -]read[- ]only\b", re.IGNORECASE)
_WARNINGS: tuple[tuple[Effect, str, re.Pattern[str]], ...] = (
    ("delete", "permanent", re.compile(r"\bpermanently\b|\birreversibl|\bundone\b", re.IGNORECASE)),
    ("write", "overwrite", re.compile(r"\boverwrit", re.IGNORECASE)),
    ("write", "save", re.compile(r"\b(?:sav|writ|stor)(?:es?|ing) (?:\w+ ){0,4}(?:to|in|into|with"
     r"|as)\b", re.IGNORECASE)),
)  # fmt: skip
_MOST_TEXT = 2000
_METHOD = re.compile(r"\b(GET|HEAD|POST|PUT|PATCH|DELETE) (?:request|/|https?:|`/)")
_METHODS: dict[str, tuple[Effect, float]] = {
    "GET": ("read", 1.0),
    "HEAD": ("read", 1.0),
    "POST": ("write", 0.5),  # many searches are POST requests
    "PUT": ("write", 1.0),
    "PATCH": ("write", 1.0),
    "DELETE": ("delete", 1.2),
}


def effect_evidence(definition: Classifiable, *, name: str = "") -> tuple[Evidence, ...]:
    """Return the evidence in a definition; nothing in it is trusted more than its weight."""
    words = tool_words(name or definition.action)
    sentence = first_sentence(definition.description)
    from_name = tuple(_from_name(words))
    from_texts = [
        *from_name,
        *_from_description(definition.description, {evidence.quote for evidence in from_name}),
    ]
    arguments = {name.lower() for name in property_names(definition.input_schema)}
    for applies, verbs in (
        (_is_arithmetic(words, sentence), _vocabulary.ARITHMETIC),
        (len(words) == 1 and bool(arguments & _vocabulary.DURATIONS), _vocabulary.WAITING),
        (_edits_text(words, sentence, arguments), _vocabulary.TEXT_EDITING),
    ):
        if applies:
            from_texts = [_as_reading(evidence, verbs) for evidence in from_texts]
    if not from_texts and (code := _first_of(sorted(arguments), _vocabulary.RUN)):
        from_texts = [Evidence("schema", "write", _RUN_WEIGHT, code)]
    return (
        *from_texts,
        *_from_conversion(words, sentence, arguments),
        *_from_method(definition, words),
        *_from_schema(definition.input_schema),
        *_from_annotations(definition.annotations),
    )


def _is_arithmetic(name: Sequence[str], sentence: Sequence[str]) -> bool:
    """Return True for "add" and its like, where numbers are added and nothing else."""
    verb = find_verb(sentence[0]) if sentence else find_base(name[0]) if name else None
    return bool(
        verb
        and verb.base in _vocabulary.ARITHMETIC
        and _first_of((*name, *sentence[:8]), _vocabulary.OPERANDS)
    )


def _from_conversion(
    name: Sequence[str], sentence: Sequence[str], arguments: Set[str]
) -> Iterator[Evidence]:
    """Yield that a converter of files writes one: "converts a video to the given format"."""
    verb = find_verb(sentence[0]) if sentence else find_base(name[0]) if name else None
    if (
        verb
        and verb.base in _vocabulary.CONVERTING
        and (place := _first_of(sorted(arguments), _vocabulary.INPUT_FILES))
        and _first_of((*name, *sentence), _vocabulary.MEDIA)
    ):
        yield Evidence("schema", "write", _CONTRADICTION, place)


def _edits_text(name: Sequence[str], sentence: Sequence[str], arguments: Set[str]) -> bool:
    """Return True for "truncate text" and its like, where the text is an argument."""
    words = {*name, *sentence[:8]}
    return bool(arguments & _vocabulary.TEXTS and words & {"string", "text", "whitespace"})


def _as_reading(evidence: Evidence, verbs: Set[str]) -> Evidence:
    if evidence.quote not in verbs:
        return evidence
    weight = (
        max(evidence.weight, _WAITING_WEIGHT) if verbs is _vocabulary.WAITING else evidence.weight
    )
    return replace(evidence, says="read", weight=weight)


def _from_name(words: Sequence[str]) -> Iterator[Evidence]:
    """Weigh the name's verbs: the first leads, and a later one that changes things counts too."""
    verbs = [(at, verb) for at, word in enumerate(words) if (verb := find_base(word))]
    if all(is_noun_too(verb) and at for at, verb in verbs) and (
        answer := _first_of(words[-1:] if verbs else words, _vocabulary.ANSWERS)
    ):
        yield Evidence("name", "read", _NOUN_WEIGHT, answer)
        return
    if not verbs:
        if "by" in words[1:-1]:  # "trades by name"
            yield Evidence("name", "read", _NOUN_WEIGHT, "by")
        elif noun := _first_of(words, _vocabulary.REASONING):
            yield Evidence("name", "read", _NOUN_WEIGHT, noun)
        return
    leading = _leading(verbs)
    lead_at, lead = max(leading, key=lambda pair: (_name_weight(pair[0], pair[1], words), -pair[0]))
    yield _evidence("name", lead, _name_weight(lead_at, lead, words))
    yield from _generated("name", lead, words[lead_at + 1 :])
    for at, verb in verbs:
        if at == lead_at or verb.effect in ("read", lead.effect) or is_noun_too(verb):
            continue
        if words[at + 1 : at + 2] and words[at + 1] in _vocabulary.MEASURES:
            continue
        # "get_or_create", "find_and_delete": the second verb is what the tool may do as well.
        weight = _NAME_WEIGHT if verb.effect == "delete" else _SECOND_IN_NAME
        yield _evidence("name", verb, weight * verb.strength)
        return


def _leading(verbs: list[tuple[int, Verb]]) -> list[tuple[int, Verb]]:
    """Drop what is a noun after a verb that opens the name: "query" in complete_query_tuning."""
    at, opening = verbs[0]
    if at or is_noun_too(opening):
        return verbs
    return [pair for pair in verbs if pair[0] == at or not is_noun_too(pair[1])]


def _name_weight(at: int, verb: Verb, words: Sequence[str]) -> float:
    """Weigh a verb by its place: a word alone may be the subject, as in "search" or "order"."""
    if is_noun_too(verb) and len(words) == 1:
        weight = _LONE_NOUN
    elif at == 0:
        weight = _NAME_WEIGHT
    else:
        weight = _NOUN_IN_NAME if is_noun_too(verb) else _LATER_IN_NAME
    return weight * verb.strength


def _from_description(description: str, name_verbs: Set[str]) -> Iterator[Evidence]:
    """Weigh the verbs of the first sentence; a verb that the name has already says little more."""
    words = first_sentence(description)
    lead_at = next(
        (at for at, word in enumerate(words) if word not in _vocabulary.LEAD_IN), len(words)
    )
    lead, weight = find_verb(words[lead_at]) if lead_at < len(words) else None, _DESCRIPTION_WEIGHT
    if lead is None:
        later = (find_verb(word) for word in words[:_FAR])
        lead = next((verb for verb in later if verb and not is_noun_too(verb)), None)
        weight = _LATER_IN_DESCRIPTION
    if (
        lead
        and lead.base in _vocabulary.LIGHT
        and (noun := _first_of(words[:12], _vocabulary.INQUIRIES))
    ):
        yield Evidence("description", "read", _NOUN_WEIGHT, noun)
    elif lead and lead.base in _vocabulary.LIGHT and _PROMISES.search(" ".join(words)):
        pass  # "Runs read-only queries": what is run says what it does
    elif lead:
        weight *= _REPEATED if lead.base in name_verbs else 1
        yield _evidence("description", lead, weight * lead.strength)
        yield from _generated("description", lead, words[lead_at + 1 : 12])
    elif noun := (
        _first_of(words[:5], _vocabulary.ANSWERS)
        or _first_of(words[:14], _vocabulary.INQUIRIES | _vocabulary.REASONING)
    ):
        yield Evidence("description", "read", _NOUN_WEIGHT, noun)
    else:
        yield from _from_inside(description)
    yield from _second_verbs(words[lead_at + 1 :], lead)
    yield from _from_phrases(description)


def _generated(source: Source, verb: Verb, words: Sequence[str]) -> Iterator[Evidence]:
    """Weigh what is generated: a key is kept by somebody, a poem is an answer."""
    if verb.base not in ("gen", "generate", "render"):
        return
    if noun := _first_of(words[:4], _vocabulary.KEPT):
        yield Evidence(source, "write", _KEPT_WEIGHT, noun)
    elif noun := _first_of(words, _vocabulary.FLEETING):
        yield Evidence(source, "read", _NOUN_WEIGHT, noun)


def _from_inside(description: str) -> Iterator[Evidence]:
    """Weigh verbs in a text without spaces: the first leads, and a deletion always counts."""
    for place, (effect, word) in enumerate(find_inside(description)):
        leads = place == 0 or effect == "delete"
        weight = _DESCRIPTION_WEIGHT if leads else _LATER_IN_DESCRIPTION
        yield Evidence("description", effect, weight, word)


def _first_of(words: Sequence[str], choices: Set[str]) -> str:
    return next((word for word in words if word in choices), "")


def _second_verbs(words: Sequence[str], lead: Verb | None) -> Iterator[Evidence]:
    """Weigh the first verb after "and" or "to" that changes something."""
    for before, word in pairwise(words):
        verb = find_verb(word) if before in _vocabulary.JOINS else None
        if verb and verb.effect != "read" and not is_noun_too(verb) and verb.base != "use":
            if lead is None or verb.effect != lead.effect:
                weight = _CONTRADICTION if verb.effect == "delete" else _SECOND_IN_DESCRIPTION
                yield _evidence("description", verb, weight * verb.strength)
            return


def _promises(description: str) -> bool:
    text = description[:_MOST_TEXT]
    return bool(_PROMISES.search(text)) and not _NOT_A_PROMISE.search(text)


def _from_phrases(description: str) -> Iterator[Evidence]:
    text = description[:_MOST_TEXT]
    if _promises(description):
        yield Evidence("description", "read", _PROMISE_WEIGHT, "read-only")
    for effect, quote, pattern in _WARNINGS:
        if pattern.search(text):
            yield Evidence("description", effect, _WARNING_WEIGHT, quote)


def _from_method(definition: Classifiable, words: Sequence[str]) -> Iterator[Evidence]:
    """Return the HTTP method of an operation, or one from the text or at the end of the name."""
    sending = definition.annotations.get("http")
    declared = str(sending.get("method")) if isinstance(sending, Mapping) else ""
    if declared in _METHODS:
        effect, strength = _METHODS[declared]
        yield Evidence("http_method", effect, _METHOD_WEIGHT * strength, declared)
        return
    match = _METHOD.search(definition.description[:600])
    method = match.group(1) if match else ""
    if not method and len(words) > 2 and words[-1].upper() in ("PUT", "PATCH", "POST", "GET"):
        method = words[-1].upper()
    if method:
        effect, strength = _METHODS[method]
        yield Evidence("http_method", effect, _METHOD_WEIGHT * strength, method)


def _from_schema(schema: Mapping[str, Any] | None) -> Iterator[Evidence]:
    """Weigh the arguments' names: filters suggest reading, contents suggest writing."""
    names = [name.lower() for name in property_names(schema)]
    if schema is not None and not names:
        yield Evidence("schema", "read", 0.5, "no arguments")
    for effect, keys, weight in (
        ("read", _vocabulary.READING, 0.7),
        ("write", _vocabulary.WRITING, 0.8),
        ("write", _vocabulary.PERHAPS_WRITING, 0.3),
        ("write", _vocabulary.SAVING, 2.0),
    ):
        hits = [name for name in names if _is_among(name, keys)]
        if hits:
            yield Evidence("schema", effect, weight * min(1.5, 0.5 + len(hits) / 2), hits[0])


def _is_among(name: str, keys: Set[str]) -> bool:
    """Return True for one of the keys, and for a place to save in with more words after it."""
    saving = keys is _vocabulary.SAVING and any(name.startswith(f"{key}_") for key in keys)
    return name in keys or saving


def _from_annotations(annotations: Mapping[str, Any]) -> Iterator[Evidence]:
    """Weigh a server's own claims: they may add danger freely, and take little of it away."""
    read_only = annotations.get("readOnlyHint")
    destructive = annotations.get("destructiveHint")
    if destructive is True and read_only is not True:
        yield Evidence("annotations", "delete", 2 * _HINT_WEIGHT, "destructiveHint")
    if read_only is False:
        yield Evidence("annotations", "write", _HINT_WEIGHT, "readOnlyHint")
    elif read_only is True:
        yield Evidence("annotations", "read", _HINT_WEIGHT, "readOnlyHint")


def _evidence(source: Source, verb: Verb, weight: float) -> Evidence:
    return Evidence(source, verb.effect, weight, verb.base)
