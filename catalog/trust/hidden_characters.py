"""Hidden characters, read by models but invisible to people, by purpose."""

from collections import Counter

from catalog.formats.hidden_patterns import ESCAPES, HIDDEN, is_spelling
from catalog.trust.findings import Finding, Severity

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
