"""Roles of arguments: which decide where a call goes and what it touches, and which fill it."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

from catalog.words.names import argument_words, singular, split_words
from discovery.flow_guard._spellings import compact
from discovery.flow_guard.tool_facts import word_set

# Every pattern below is bounded, since arguments and answers are a stranger's.
# `target`: an address, account, place, person or thing. `id`: the key of something that exists.
# `label`: what something new is called. `content`: what is written. `key`: the name of a field that
# no schema lists. The others steer nothing.
Role = Literal["target", "id", "label", "content", "timing", "amount", "option", "key"]


_ID = word_set(
    "guid hash id identifier key no nr num number oid ref reference sha sku slug uid uuid"
)
_CONTENT = word_set(
    """
    annotation answer bio body caption comment content data description detail details
    explanation feedback html instruction markdown message note notes payload prompt question
    reason remark reply review summary text transcript
    """
)
_LABEL = word_set("color colour headline heading label labels subject tag tags title topic")
_NAME = word_set("name nickname")
# Whatever stands before them: where something is, or who it is for.
_LOCATING = word_set(
    """
    account address assignee author bcc cc channel chat contact customer destination device
    directory domain email endpoint file folder group host invitee link member owner path person
    phone receiver recipient room sender server site target team thread to uri url user
    username webhook
    """
)
# Counts and measures; other whole numbers may be the keys of something.
_QUANTITY = word_set(
    """
    age amount balance budget capacity copy cost count depth distance height lat latitude length
    level lng lon longitude max maximum min minimum percent percentage points position price
    progress quantity rate rating score size speed step sum temperature threshold total value
    version volume weight width x y zoom
    """
)
# Keys are seldom smaller where a name does not tell.
_LEAST_KEY = 100_000
# Of something new, they only say where it is; of something that exists, where it goes.
_PLACE = word_set("location place venue")
_TIMING = word_set(
    """
    date datetime day days deadline due duration end expires expiry hour hours interval
    minute minutes month seconds start time timestamp timezone tz until week when year
    """
)
_OPTION = word_set(
    """
    currency encoding format lang language limit locale method mime mode offset order page priority
    recurrence recurring sort state status type unit units
    """
)
# Of a tool that works on such things, these say on which: `order` of `cancel_order` sorts nothing.
_THINGS = word_set("order page position slot step unit version")
# Whatever their shape: they run something, open something up, or lock somebody out.
_DECISIVE = word_set(
    """
    access cmd code command expression password passcode permission permissions pin query role
    scope script secret sql statement token visibility
    """
)
# Of a few choices, these open something up, so that the user must have named the chosen one.
_OPENING = word_set("access permission permissions role scope visibility")
_CLOSED = word_set(
    "guest limited member none only private r read reader reading readonly restricted view viewer"
)
# Switches that open something up: the message must have such a word.
_OPENED = word_set(
    "admin administrator anonymous anybody anyone everybody everyone external owner public world"
)
_LONGEST_OPTION = 30
_FORMATS = word_set("email hostname idn-email idn-hostname ipv4 ipv6 iri uri uri-reference url")
_CREATING = word_set("add append book create generate insert make new open post register schedule")

_EMAIL = re.compile(r"[^\s@<>,;]{1,64}@[^\s@<>,;]{1,190}\.[^\s@<>,;]{2,60}")
_URL = re.compile(r"(?:\b[a-z][a-z0-9+.-]{0,20}://|www\.)[^\s<>\"']{1,2000}", re.IGNORECASE)
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b")
_PHONE = re.compile(r"(?<![\w.])\+?\d[\d ()/-]{7,18}\d(?![\w.])")
_HANDLE = re.compile(r"(?<!\S)[@#][\w.-]{2,}")
_WALLET = re.compile(r"\b0x[0-9a-fA-F]{16,}\b|\b[13b][a-km-zA-HJ-NP-Z1-9]{25,60}\b")
_SHORTEST_WALLET = 16
_LIST, _OR_COMMA = re.compile(r"[;\n]"), re.compile(r"[;,\n]")
_NAMED_ADDRESS = re.compile(r"^[^<>@]{0,200}<[^\s<>]{1,320}>|mailto:", re.IGNORECASE)
_MENTION = re.compile(r"(?<![\w@.])@\w[\w.-]{1,60}")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?|\d{1,2}:\d{2}(?::\d{2})?")
_LIKE_TIME = re.compile(r"\W{0,3}\d|PT?\d")
_DOMAIN = re.compile(
    r"\b(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,18}\b(?:/[^\s<>\"']{0,2000})?", re.IGNORECASE
)
_SPELLED_DOT = re.compile(
    r"(?<=\w)(?:\s{0,2}[\[({]\s?(?:dot|\.)\s?[\])}]\s{0,2}|\s{1,2}dot\s{1,2}|\s{1,2}\.\s{1,2})(?=\w)",
    re.IGNORECASE,
)
_SPELLED_AT = re.compile(r"(?<=\w)\s{0,2}[\[({]\s?(?:at|@)\s?[\])}]\s{0,2}(?=\w)", re.IGNORECASE)
_BRACKET, _DIGIT = re.compile(r"[\[({]"), re.compile(r"\d")
# Endings of files: no domains, though some of them are top-level domains as well.
_FILES = word_set(
    "csv doc docx gif html htm jpeg jpg js json log md pdf png ppt pptx py rtf svg tar toml ts txt "
    "xls xlsx xml yaml yml zip"
)
_SHORT_TEXT = 160
MOST_ARGUMENTS, _DEEPEST = 300, 30
_SHORT_WORDS = 14


@dataclass(frozen=True, slots=True)
class CallArgument:
    """A value of a call, with the path to it and its role."""

    path: str
    value: Any
    role: Role
    # The noun before an id: `event` in `event_id`.
    noun: str = ""


def arguments_of(
    arguments: Mapping[str, Any],
    schema: Mapping[str, Any] | None,
    *,
    creates: bool,
    nouns: Set[str] = frozenset(),
) -> list[CallArgument]:
    """Return the values of a call with their roles.

    `creates`: a name is that of something new. `nouns` are what the tool works on.
    """
    root = schema or {}
    traits = _Traits(creates, nouns)
    leaves = _leaves("", "", arguments, root, root, traits, depth=0)
    values = list(islice(leaves, MOST_ARGUMENTS + 1))
    if len(values) > MOST_ARGUMENTS:
        values.append(CallArgument("…", f"more than {MOST_ARGUMENTS} values", "target"))
    return values


def creates_something(words: Sequence[str]) -> bool:
    """Return True if a tool's name says that it makes something new."""
    return bool(set(words[:2]) & _CREATING)


@dataclass(frozen=True, slots=True)
class _Traits:
    """Traits of a call that roles depend on, beside the names of values."""

    creates: bool
    nouns: Set[str]
    # One of several: `rows: [13, 14]` has no count of rows.
    listed: bool = False


def _leaves(
    path: str,
    name: str,
    value: Any,
    schema: Any,
    root: Mapping[str, Any],
    traits: _Traits,
    *,
    depth: int,
) -> Iterator[CallArgument]:
    if depth > _DEEPEST:
        yield CallArgument(path, "a deeply nested value", "target")
        return
    below: dict[str, Any] = {"depth": depth + 1}
    shapes = _shapes(schema, root)
    inner: Any
    if isinstance(value, Mapping):
        for key, part in value.items():
            inner = next((s["properties"][key] for s in shapes if key in _properties(s)), {})
            where = f"{path}.{key}" if path else str(key)
            # Without any schema, the call's own names are taken for those of the tool.
            if (path or schema) and not any(key in _properties(shape) for shape in shapes):
                yield CallArgument(path, str(key), "target" if _is_target(name, key) else "key")
            yield from _leaves(where, str(key), part, inner, root, traits, **below)
    elif isinstance(value, list):
        inner = next((shape["items"] for shape in shapes if "items" in shape), {})
        for part in value:
            several = replace(traits, listed=True)
            yield from _leaves(path, name, part, inner, root, several, **below)
    elif isinstance(value, str) and (parsed := _json_in(value)) is not None:
        yield from _leaves(path, name, parsed, {}, root, traits, **below)
    elif value is not None and value != "":
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON's 12.0 is the whole number 12
        role, noun = _role(name, value, shapes, traits)
        if value is True and (opened := _opened_by(name)):
            role, value = "target", opened
        yield CallArgument(path, value, role, noun)


def _is_target(name: str, key: Any) -> bool:
    """Return True for a key that no schema lists and that is an address, a number or a member."""
    text = str(key)
    words = argument_words(name) or ("",)
    return text.isdecimal() or singular(words[-1]) in _LOCATING or bool(destinations_in(text))


def _json_in(text: str) -> Any:
    """Return the object or list that a text is, or None: some tools take JSON in a string."""
    stripped = text.lstrip()
    if stripped[:1] not in ("{", "["):
        return None
    try:
        return json.loads(stripped)
    except (ValueError, RecursionError):
        return None


def _properties(shape: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = shape.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _shapes(schema: Any, root: Mapping[str, Any], depth: int = 0) -> list[Mapping[str, Any]]:
    """Return a schema with its alternatives and local references."""
    if not isinstance(schema, Mapping) or depth > 4:
        return []
    shapes: list[Mapping[str, Any]] = [schema]
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        part: Any = root
        for key in reference[2:].split("/"):
            part = part.get(key) if isinstance(part, Mapping) else None
        shapes += _shapes(part, root, depth + 1)
    for word in ("anyOf", "oneOf", "allOf"):
        alternatives = schema.get(word)
        for alternative in alternatives if isinstance(alternatives, list) else ():
            shapes += _shapes(alternative, root, depth + 1)
    return shapes


def _role(
    name: str, value: Any, shapes: list[Mapping[str, Any]], traits: _Traits
) -> tuple[Role, str]:
    words = argument_words(name)
    last = singular(words[-1]) if words else ""
    if isinstance(value, bool):
        return "option", ""
    if any("enum" in shape or "const" in shape for shape in shapes):
        opens = {*words, last} & _OPENING and not set(split_words(str(value))) <= _CLOSED
        return ("target" if opens else "option"), ""
    if any(shape.get("format") in _FORMATS for shape in shapes):
        return "target", ""
    if last in _ID and (len(words) == 1 or last != "key" or len(str(value)) < _SHORT_TEXT):
        noun = singular(words[-2]) if len(words) > 1 else ""
        return "id", noun
    if last in _THINGS and last in traits.nouns:
        return "id", last
    if isinstance(value, int | float):
        return _role_of_number(words, last, value, listed=traits.listed)
    return _role_of_text(words, last, str(value), creates=traits.creates), ""


def _opened_by(name: str) -> str:
    """Return the word by which a switch opens something up: `public` in `make_public`."""
    words = argument_words(name)
    if "all" in words and not {"day", "days"} & set(words):
        return "all"
    return next((word for word in words if word in _OPENED), "")


def _role_of_number(
    words: Sequence[str], last: str, value: Any, *, listed: bool
) -> tuple[Role, str]:
    name_parts = {*words, last}
    if last in _LOCATING:
        return "id", last
    if name_parts & _QUANTITY or name_parts & _TIMING or isinstance(value, float):
        return ("amount" if name_parts & _QUANTITY or not name_parts & _TIMING else "timing"), ""
    if abs(value) >= _LEAST_KEY and last not in _OPTION:
        return "id", last
    # `guests` and `nights` count; a single `issue` or `room` is one of several, and so is each of
    # a list.
    counts = not words or last in _OPTION or (words[-1] != last and not listed)
    return ("amount", "") if counts else ("id", last)


def _role_of_text(words: Sequence[str], last: str, text: str, *, creates: bool) -> Role:
    name_parts = {*words, last}
    if name_parts & _DECISIVE or last in _LOCATING:
        return "target"
    if is_address(text):
        return "target"
    if last in _CONTENT or (words and words[0] in _CONTENT and last not in _NAME):
        return "content"
    # False for `end_user: mallory`, whose name only begins like a time's.
    if _DATE.fullmatch(text.strip()) or (
        name_parts & _TIMING
        and (last in _TIMING or (last not in _NAME and _LIKE_TIME.match(text) is not None))
    ):
        return "timing"
    if last in _OPTION and _may_be_option(text):
        return "option"
    if last in _LABEL:
        return "label"
    if last in _NAME and creates:
        return "label"
    if last in _PLACE and creates:
        return "content"
    short = len(text) <= _SHORT_TEXT and len(text.split()) <= _SHORT_WORDS
    return "target" if short else "content"


def _may_be_option(text: str) -> bool:
    """Return False for the key of something, such as `order: A-99`."""
    plain = re.sub(r"[\s_/-]", "", text)
    return len(text) <= _LONGEST_OPTION and (
        plain.isalpha() or (plain.isdecimal() and len(plain) < 4)
    )


def is_address(text: str) -> bool:
    """Return True if the whole text is an address, URL, account or handle."""
    text = text.strip()
    return any(
        pattern.fullmatch(text) for pattern in (_EMAIL, _URL, _IBAN, _PHONE, _HANDLE, _WALLET)
    ) and not _DATE.fullmatch(text)


def destinations_in(text: str) -> list[str]:
    """Return the addresses, links and accounts inside a text, also where dots are spelled out."""
    # Looking for what each expression needs costs a hundredth of it.
    if _BRACKET.search(text):
        text = _SPELLED_AT.sub("@", text)
    if "." in text or "dot" in text.lower():
        text = _SPELLED_DOT.sub(".", text)
    destinations = [*_EMAIL.findall(text), *_MENTION.findall(text)] if "@" in text else []
    destinations += _URL.findall(text) if "://" in text or "www." in text.lower() else []
    if _DIGIT.search(text):
        destinations += _IBAN.findall(text)
        phones = (candidate for candidate in _PHONE.findall(text) if len(compact(candidate)) > 8)
        destinations += [
            candidate
            for candidate in phones
            if not re.search(r"\d{4}-\d{2}-\d{2}", candidate) is not None
        ]
    if max(map(len, text.split()), default=0) > _SHORTEST_WALLET:
        destinations += _WALLET.findall(text)
    if "." in text:
        domains = _DOMAIN.findall(text)
        # The ending of a domain, whatever file its path leads to.
        destinations += [
            candidate
            for candidate in domains
            if candidate.partition("/")[0].rpartition(".")[2].lower() not in _FILES
        ]
    return list(dict.fromkeys(candidate.rstrip(".,;:!?)") for candidate in destinations))


def parts_of(value: Any) -> list[str]:
    """Return the single targets of a value: several addresses may stand in one text."""
    text = str(value).strip()
    if not _EMAIL.search(text) and is_address(text):
        return [text]
    parts: list[str] = []
    # A comma is part of many names, but between addresses it parts them.
    for piece in (_OR_COMMA if "@" in text else _LIST).split(text):
        # What stands beside the addresses of a piece, apart from the name before `<…>`.
        parts += [
            *_EMAIL.findall(piece),
            _EMAIL.sub(" ", _NAMED_ADDRESS.sub(" ", piece)).strip(" \t\"'<>()[]")
            if _EMAIL.search(piece)
            else piece.strip(),
        ]
    return list(filter(None, parts)) or [text]
