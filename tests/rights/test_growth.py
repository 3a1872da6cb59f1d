"""CPU time of expressions and text readers grows less than quadratically with the input."""

import re
from functools import lru_cache, partial
from itertools import islice
from typing import Any

import pytest

from acl.web.markdown import safe_html
from tests.rights.attacks import COMMON, attacks
from tests.rights.growth import cpu_seconds, growth
from tests.rights.patterns import HOOK, product_patterns, unicode_patterns, unreadable_calls

# Computed from our own words: escaped, or read from our own file at import, where the first test
# finds it.
WORKED_OUT = {
    "acl.rights.statement": "names of our own SQL parameters",
    "catalog.servers.client.variable_rules": "compiled at import from names in that module",
    "marketplace.installs.packages.pypi": "the escaped name of a class",
    "catalog.trust.scanner": "compiled at import from phrases.txt",
}
# Exponential growth shows with few characters, quadratic growth with thousands.
FEW, MANY = (16, 24, 32, 40), 1_000
SUSPICIOUS = 0.00025  # seconds; linear ones need less for this many characters


@pytest.mark.long
def test_expressions_of_the_product_are_linear() -> None:
    found = {}

    for pattern in product_patterns():
        if worst := slowest(pattern.compiled, anchored=pattern.is_anchored):
            found[f"{pattern.place} {pattern.source[:60]}"] = worst

    assert found == {}


def test_expressions_by_unicode_properties_are_linear() -> None:
    pumps = (*COMMON, "\u0301", "\u200b", "数", "👩\u200d", "\u0430", "é0")
    patterns = dict(unicode_patterns())

    found = {
        f"{place} {pump!r}": told
        for place, pattern in patterns.items()
        for pump in pumps
        if (told := growth(partial(_find_all, pattern, pump), 500))
    }

    assert patterns
    assert found == {}


def test_no_expression_is_hidden_from_the_test() -> None:
    assert re.search(r"^(import|from) (re|regex)\b", HOOK.read_text("utf-8"), re.MULTILINE) is None
    worked_out = {call for call in unreadable_calls() if call.partition(":")[0] not in WORKED_OUT}

    assert worked_out == set()


@pytest.mark.parametrize(
    "source",
    [
        r"[A-Za-z0-9]+(?:[_-]+[A-Za-z0-9]+)+",
        r",?\s+(?:and|then)\s+|,\s+",
        r"^(\w+\s?)*$",
        r"(a|aa)+$",
        r"[\d.]+$",
        r"\$\{(\w[\w.-]*)[^}]*\}",
        r"<!--.*?-->",
        r"x*y",
        r"(?=[\w-]*\d)[\w-]{20,}",
        r"<\s*/?\s*system",
        r"(?:забуд\w*).{0,40}(?:правил)",
    ],
)
def test_slow_expression_is_found(source: str) -> None:
    assert slowest(re.compile(source), anchored=False)


@pytest.mark.parametrize(
    "source",
    [
        r"(?<![A-Za-z0-9])[A-Za-z0-9]++(?:[_-]++[A-Za-z0-9]++)+",
        r"[^\W_]+",
        r"\b(?:never|always) (?:\w+ ){0,4}tell\b",
        r"<!--(?:(?!<!--|-->).){0,200}+-->",
    ],
)
def test_quick_expression_is_left_alone(source: str) -> None:
    assert not slowest(re.compile(source), anchored=False)


def test_brackets_without_end_are_shown_as_they_stand() -> None:
    shown = safe_html("[<b>" * 50_000)

    assert shown.startswith("<pre>[&lt;b&gt;[")
    assert "<a " in safe_html("[a](https://example.com) " * 100)


def test_table_with_more_cells_than_a_page_needs_is_shown_as_text() -> None:
    wide = "|a" * 1_000 + "|\n" + "|-" * 1_000 + "|\n" + "|\n" * 3_000

    shown = safe_html(wide)

    assert "<table" not in shown
    assert len(shown) < 3 * len(wide)
    assert "<table" in safe_html("|a|b|\n|-|-|\n" + "|1|2|\n" * 100)


def _find_all(pattern: Any, pump: str, size: int) -> None:
    pattern.findall(pump * size + "\x00")


def slowest(pattern: re.Pattern[str], *, anchored: bool) -> str:
    """Return the text for which the expression is superlinear, or ""."""
    for size in FEW:
        for text in attacks(pattern.pattern, pattern.flags, size):
            call = partial(_use, pattern, text, anchored)
            # A pause of the machine counts as the thread's time, but does not come three times.
            if all(cpu_seconds(call) > 0.05 for _ in range(3)):
                return f"exponential: {text!r}"
    worst, place, text = 0.0, 0, ""
    for at, one in enumerate(attacks(pattern.pattern, pattern.flags, MANY)):
        spent = cpu_seconds(partial(_use, pattern, one, anchored))
        if spent > worst:
            worst, place, text = spent, at, one
        if worst > 10 * SUSPICIOUS:  # enough to be judged
            break
    if worst < SUSPICIOUS:
        return ""
    told = growth(lambda size: _use(pattern, _attack(pattern, place, size), anchored), MANY)
    return f"{text[:30]!r}…{text[-10:]!r}: {told}" if told else ""


@lru_cache(maxsize=8)
def _attack(pattern: re.Pattern[str], place: int, size: int) -> str:
    return next(islice(attacks(pattern.pattern, pattern.flags, size), place, None))


def _use(pattern: re.Pattern[str], text: str, anchored: bool) -> None:
    if anchored:
        pattern.match(text)
        pattern.fullmatch(text)
        return
    for _ in pattern.finditer(text):
        pass
