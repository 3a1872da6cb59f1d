"""The scanner for suspicious texts in definitions.

It reads every text a model would read and reports findings; `gate` decides. It finds careless and
common attacks; no scanner finds all.
"""

import base64
import binascii
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path

from acl.visible_text.scripts import LOOKS_LIKE, script_of
from catalog.formats.descriptors import JSONObject
from catalog.formats.text_cleanup import ESCAPES, HIDDEN, clean_text, is_spelling
from catalog.trust.findings import LONGEST_EXCERPT, Finding, Severity, worst_first
from catalog.trust.text_differences import visible

# Views of a text as a model may read it: plain, and with disguises removed.

# Confusable names: equal skeletons mean that people may mistake one for the other.

# Unicode's table compares shapes. Readers take these small letters for Latin ones at a glance.
_AT_A_GLANCE = dict(zip("ьƅɗєғƒ¡кκмпηтτωχʐӏ", "bbdeffikkmnnttwxzl", strict=True))
LETTERS = str.maketrans(
    {
        other: latin.lower()
        for other, latin in LOOKS_LIKE.items()
        if other.isalpha() and other == other.casefold() and len(latin) == 1 and latin.isalpha()
    }
    | _AT_A_GLANCE
)
_SHAPES = str.maketrans({"0": "o", "1": "l", "5": "s", "|": "l"})
_MIXED_WITH_LATIN = {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"}


def skeleton(name: str) -> str:
    """Return a name's shape: case, accents, separators, foreign letters and 0/O are folded."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    letters = "".join(
        character for character in plain if not unicodedata.combining(character)
    ).translate(LETTERS)
    shape = re.sub(r"[^\w]|_", "", letters.translate(_SHAPES))
    return shape.replace("rn", "m").replace("vv", "w").replace("i", "l")


def mixes_alphabets(name: str) -> bool:
    """Return True if a word mixes Latin with another alphabet, as no language does."""
    if name.isascii():
        return False
    for word in re.findall(r"\w+", unicodedata.normalize("NFKC", name)):
        alphabets = {script_of(letter) for letter in word if letter.isalpha()}
        if "LATIN" in alphabets and alphabets & _MIXED_WITH_LATIN:
            return True
    return False


def is_disguised(name: str) -> bool:
    """Return True if all foreign letters in a name look Latin."""
    letters = [letter for letter in name.casefold() if letter.isalpha()]
    foreign = [letter for letter in letters if ord(letter) > 0x24F]
    return bool(foreign) and all(ord(letter) in LETTERS for letter in foreign)


LONGEST = 8_192  # descriptions are cut here too
_MARKS = re.compile(r"[*`~\"“”„«»]|(?<!\w)_+|_+(?!\w)")
_ACCENTS = re.compile(r"[\u0300-\u036f]")
_SPACED = re.compile(r"(?:\b\w[ .\-_]){5,}\w\b")
_BETWEEN_LETTERS = re.compile(r"(?<=\b\w)[ .\-_](?=\w\b)")
_DIGITS_IN_WORDS = re.compile(r"[a-z][013457@$][a-z]|\b[013457@$][a-z]{2}")
_AS_LETTERS = str.maketrans("013457@$", "oieastas")
_ENCODED = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{40,4096}={0,2}(?![A-Za-z0-9+/])")


def views_of(text: str) -> Iterator[str]:
    """Yield the plain view, and one more per disguise found."""
    plain = plain_view(text[:LONGEST])
    yield plain
    # Only if there is a disguise: each view costs a scan of all rules.
    if mixes_alphabets(plain):
        yield plain.translate(LETTERS)
    if _SPACED.search(plain):
        yield plain_view(_BETWEEN_LETTERS.sub("", text[:LONGEST]))
    if _DIGITS_IN_WORDS.search(plain):
        yield plain.translate(_AS_LETTERS)
    for blob in _ENCODED.findall(text[:LONGEST]):
        if decoded := _decode_text(blob):
            yield plain_view(decoded)


def plain_view(text: str) -> str:
    """Normalize to lower case and one line, without accents, emphasis and hidden characters."""
    visible = unicodedata.normalize("NFKC", clean_text(text).text).casefold()
    letters = _ACCENTS.sub("", unicodedata.normalize("NFD", visible))
    composed = unicodedata.normalize("NFC", letters.replace("’", "'"))  # noqa: RUF001
    return " ".join(_MARKS.sub("", composed).split())


def _decode_text(blob: str) -> str:
    """Decode base64 if the result is a text of several words, else return ""."""
    try:
        text = base64.b64decode(blob + "=" * (-len(blob) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return ""
    return (
        text if text.count(" ") >= 2 and all(c.isprintable() or c in "\n\t" for c in text) else ""
    )


# Hidden characters, read by models but invisible to people, by purpose.

DESCRIPTIONS = {
    "tag_characters": "characters that spell out a text of their own and are never shown",
    "bidi_override": "characters that turn the order of the text around",
    "terminal_sequence": "sequences that colour or erase what a terminal shows",
    "zero_width": "characters of no width",
    "control_character": "control characters",
    "private_use": "characters that mean nothing outside of one program",
    "variation_selector": "selectors that change nothing visible and can carry a message",
}


def find_hidden(text: str, where: str) -> list[Finding]:
    """Return a finding per kind of hidden character.

    Those needed by emoji and scripts have low severity.
    """
    if text.isascii() and text.isprintable():
        return []
    counts: Counter[str] = Counter()
    spelling = 0
    rest = text.replace("\r\n", "\n")
    counts["terminal_sequence"] = len(ESCAPES.findall(rest))
    rest = ESCAPES.sub("", rest)
    for match in HIDDEN.finditer(rest):
        kind = str(match.lastgroup)
        if is_spelling(kind, rest, match.start()):
            spelling += 1
        else:
            counts[kind] += 1
    findings = [_finding(kind, number, where, text) for kind, number in counts.items() if number]
    if spelling:
        message = f"{spelling} invisible characters, as used in emoji and some scripts."
        findings.append(Finding("joiners", Severity.LOW, where, message))
    return findings


def _finding(kind: str, number: int, where: str, text: str) -> Finding:
    message = f"{number} hidden: {DESCRIPTIONS[kind]}."
    return Finding(kind, Severity.HIGH, where, message, _decode_tags(text) if "tag" in kind else "")


def _decode_tags(text: str) -> str:
    """Decode the text spelled by tag characters."""
    letters = (
        ord(character) - 0xE0000 for character in text if 0xE0020 <= ord(character) <= 0xE007E
    )
    return "".join(map(chr, letters))[:160]


_FILE = Path(__file__).with_name("phrases.txt")
_DEFINITION = re.compile(r"([A-Z]+) = (.+)")
_REFERENCE = re.compile(r"\{([A-Z]+)\}")


@dataclass(slots=True)
class _Draft:
    code: str
    severity: Severity
    told: str
    patterns: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PhraseRule:
    """A rule: code, severity, effect on the reader, and pattern."""

    code: str
    severity: Severity
    told: str
    pattern: re.Pattern[str]


def read_rules(text: str) -> tuple[PhraseRule, ...]:
    """Parse rules, in order."""
    parts: dict[str, str] = {}
    drafts: list[_Draft] = []
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("@"):
            code, severity, message = line[1:].split(" ", 2)
            drafts.append(_Draft(code, Severity(severity), message))
        elif part := _DEFINITION.fullmatch(line):
            parts[part[1]] = part[2]
        else:
            drafts[-1].patterns.append(_REFERENCE.sub(lambda gap: parts[gap[1]], line))
    return tuple(_compile(draft) for draft in drafts)


def _compile(draft: _Draft) -> PhraseRule:
    pattern = re.compile("|".join(f"(?:{expression})" for expression in draft.patterns))
    return PhraseRule(draft.code, draft.severity, draft.told, pattern)


RULES = read_rules(_FILE.read_text(encoding="utf-8"))


# Far more than a description for a model needs.
LONG_CHARACTERS = 4_000
_SHORT = 200
# Of one definition; schemas within their limit have less.
MOST_CHARACTERS = 400_000
# Deeper than any schema that a server can send.
MOST_DEPTH = 200
# Longer texts are scanned in parts, which overlap by more than any rule of phrases.txt spans.
_PART, _OVERLAP = LONGEST - 192, 800
_OUT_OF_SIGHT = re.compile(r"(?:[ \t]*\n){15,}|[ \t]{120,}")
# Starts at the last opening before an end: many openings must not cause quadratic time.
_COMMENT = re.compile(r"<!--(?:(?!<!--|-->).){0,2000}+-->", re.DOTALL)
_BLOB = re.compile(
    r"(?<![A-Za-z0-9+/])(?=[a-z0-9+/]*[A-Z])(?=[A-Z0-9+/]*[a-z])[A-Za-z0-9+/]{80,}=*"
)


# Names of fields: a skill's text, which consists of instructions, and a README.
INSTRUCTIONS, _README = "content", "readme"
# Findings that are shown but never hold a definition, by field.
_USUAL = {
    INSTRUCTIONS: frozenset({"directs_its_reader"}),
    # READMEs are for people, never for models. They say where to put a key and which script to pipe
    # into a shell. Markdown collapses blank space.
    _README: frozenset({"directs_its_reader", "reads_secrets", "carries_off", "out_of_sight"}),
}
# Pages show code blocks, so comments in them are visible.
_FENCED = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)


def scan_definition(definition: JSONObject) -> list[Finding]:
    """Return all findings about a definition, the most severe first."""
    findings: list[Finding] = []
    remaining = MOST_CHARACTERS
    try:
        for where, text in walk_texts(definition):
            remaining -= len(text)
            if remaining < 0:
                message = "The text is too long to scan completely."
                findings.append(Finding("not_looked_through", Severity.HIGH, where, message))
                break
            findings += scan_text(text, visible(where))
    except TooDeepError:
        message = "The definition is too deep to scan completely."
        findings.append(Finding("not_looked_through", Severity.HIGH, "", message))
    return worst_first(findings)


def scan_text(text: str, where: str) -> list[Finding]:
    """Return all findings about one text."""
    findings = [*find_hidden(text, where), *_odd_shapes(text, where), *_instructions(text, where)]
    usual = _USUAL.get(where, frozenset())
    return [
        replace(
            finding,
            severity=Severity.MEDIUM if finding.severity is Severity.HIGH else finding.severity,
        )
        if finding.code in usual
        else finding
        for finding in findings
    ]


class TooDeepError(ValueError):
    """Values are nested deeper than anybody looks."""


def walk_texts(whole: object) -> Iterator[tuple[str, str]]:
    """Yield every text with its place, keys included, in order and without recursion.

    Raises TooDeepError when it comes to values that are nested too deep.
    """
    waiting: list[tuple[str, object, int]] = [("", whole, 0)]
    while waiting:
        where, value, depth = waiting.pop()
        if depth > MOST_DEPTH:
            raise TooDeepError
        if isinstance(value, str):
            yield where, value
        elif isinstance(value, dict):
            yield from ((f"{where}.{key}".lstrip("."), str(key)) for key in value)
            inside = [
                (f"{where}.{key}".lstrip("."), inner, depth + 1) for key, inner in value.items()
            ]
            waiting += reversed(inside)
        elif isinstance(value, list):
            inside = [(f"{where}[{at}]", inner, depth + 1) for at, inner in enumerate(value)]
            waiting += reversed(inside)


def _odd_shapes(text: str, where: str) -> Iterator[Finding]:
    if len(text) > LONG_CHARACTERS and where not in _USUAL:
        message = f"Unusually long: {len(text):,} characters."
        yield Finding("long", Severity.MEDIUM, where, message)
    if _OUT_OF_SIGHT.search(text):
        message = "Blank space hides the text after it."
        yield Finding("out_of_sight", Severity.HIGH, where, message)
    yield from _comments(_FENCED.sub("", text) if where in _USUAL else text, where)
    if len(text) >= 80 and (blob := _BLOB.search(text)):
        message = "Encoded text, which a model may decode."
        yield Finding("encoded", Severity.MEDIUM, where, message, _cut(blob.group()))


def _comments(text: str, where: str) -> Iterator[Finding]:
    """Find the first comment.

    A README's comments are often build marks (`<!-- toc -->`), so they have low severity unless
    they contain instructions.
    """
    if where != _README:
        comment, severity = _COMMENT.search(text), Severity.HIGH
    else:
        speaking = (match for match in _COMMENT.finditer(text) if _cached_matches(match.group()))
        comment, severity = next(speaking, None), Severity.HIGH
        if comment is None:
            comment, severity = _COMMENT.search(text), Severity.LOW
    if comment is not None:
        message = "A hidden comment, which models read."
        yield Finding("comment", severity, where, message, _cut(visible(comment.group())))


def _instructions(text: str, where: str) -> Iterator[Finding]:
    if len(text) < 6:
        return
    # Schemas repeat short texts like "string" thousands of times.
    matches = _cached_matches(text) if len(text) < _SHORT else _matches(text)
    for rule, around in matches:
        yield Finding(rule.code, rule.severity, where, f"It {rule.told}.", around)


@lru_cache(maxsize=20_000)
def _cached_matches(text: str) -> tuple[tuple[PhraseRule, str], ...]:
    return _matches(text)


def _matches(text: str) -> tuple[tuple[PhraseRule, str], ...]:
    """Return the violated rules, each once, with an excerpt."""
    violations: dict[str, tuple[PhraseRule, str]] = {}
    for view in chain.from_iterable(views_of(part) for part in _parts(text)):
        for rule in RULES:
            if rule.code not in violations and (match := rule.pattern.search(view)):
                around = view[max(0, match.start() - 20) : match.end() + 20]
                violations[rule.code] = rule, _cut(around)
    return tuple(violations.values())


def _parts(text: str) -> Iterator[str]:
    yield text[:_PART]
    for start in range(_PART - _OVERLAP, len(text) - _OVERLAP, _PART - _OVERLAP):
        yield text[start : start + _PART]


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_EXCERPT else text[: LONGEST_EXCERPT - 1] + "…"
