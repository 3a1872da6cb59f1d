"""Answers of built-in tools: exact where an independent computation exists, and never unbounded."""

import base64
import hashlib
import math
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

import pytest
import time_machine
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from catalog.built_ins import calculator, units
from catalog.built_ins.base import ToolError
from catalog.built_ins.registry import FUNCTIONS, run_built_in
from catalog.readiness.obstacles import BUILT_IN_TOOLS, BUILT_INS
from marketplace.offers.kinds.starter import starter_collection

DEFINITIONS = {tool.full_name: tool for tool in starter_collection().capabilities}
STATELESS = [name for name in FUNCTIONS if not name.startswith(("memory__", "tasks__", "web-"))]


def run(name: str, **arguments: Any) -> Any:
    """Return what the tool answers, with arguments that its definition allows."""
    Draft202012Validator(DEFINITIONS[name].input_schema or {}).validate(arguments)
    result = run_built_in(name, arguments, user_id=None)
    if result.is_error:
        raise ToolError(result.content[0]["text"])
    return result.structured if result.structured is not None else result.content[0]["text"]


def test_every_tool_has_a_function_and_a_definition() -> None:
    ours = {i.slug for i in starter_collection().integrations if i.slug in BUILT_INS}

    assert set(FUNCTIONS) == set(BUILT_IN_TOOLS)
    assert set(BUILT_IN_TOOLS) == {n for n, c in DEFINITIONS.items() if c.integration in ours}
    assert all(DEFINITIONS[name].side_effect == "read" for name in STATELESS)


def _exact(text: str) -> Fraction:
    """Work out a text of our own making: Python's own arithmetic, on exact fractions."""
    return eval(re.sub(r"\d+(\.\d+)?", r"Fraction('\g<0>')", text), {"Fraction": Fraction})  # type: ignore[no-any-return]  # noqa: S307


sums = st.recursive(
    st.decimals(0, 10**6, places=2).map(lambda number: f"{number:f}"),
    lambda inner: st.tuples(inner, st.sampled_from("+-*/"), inner).map(
        lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
    ),
    max_leaves=8,
)


@given(text=sums)
def test_calculator_agrees_with_exact_fractions(text: str) -> None:
    try:
        expected = _exact(text)
    except ZeroDivisionError:
        with pytest.raises(ToolError):
            calculator.calculate(text)
        return
    assume(abs(expected) < 10**40)

    value, unit = calculator.calculate(text)

    tolerance = Fraction(1, 10**12) * max(Fraction(1), abs(expected))
    assert (abs(Fraction(value) - expected) <= tolerance, unit) == (True, "")


@pytest.mark.parametrize(
    ("expression", "more", "answer"),
    [
        ("1890 * 19%", {}, "359.1"),
        ("2^3^2", {}, "512"),
        ("-2^2", {}, "-4"),
        ("1,890.50 + 0.5", {}, "1891"),
        ("10 / 4", {"decimals": 0}, "3"),
        ("max(1, 2, 3) + round(2.5)", {}, "6"),
        ("7 mod 4", {}, "3"),
        ("5!", {}, "120"),
        ("sqrt(2)", {"decimals": 5}, "1.41421"),
        ("5 feet + 9 in", {"convert_to": "cm"}, "175.26"),
        ("64 °F", {"convert_to": "celsius"}, "17.78"),
        ("0.5 l", {"convert_to": "cups"}, "2.11"),
    ],
)
def test_calculator_reads_what_people_write(
    expression: str, more: dict[str, Any], answer: str
) -> None:
    assert run("calculator", expression=expression, **more)["value"] == answer


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os')", "1 +", "(1", "1 / 0", "9**9**9**9", "99999!", "0.5!", "x", "1 kg + 1 m",
        "(" * 400 + "1", "2**" * 100 + "2", "1e9999 * 1e9999", "sqrt(-1)", "''",
        "", "(-1)^0.5", "log(0)", "log(5, 1)", "exp(1e30)", "sin(1e9000)", "sum()", "1 2",
        "20 C + 10 C",
    ],
)  # fmt: skip
def test_calculator_refuses_in_words(expression: str) -> None:
    with pytest.raises(ToolError):
        calculator.calculate(expression)


@given(text=st.text(alphabet="0123456789.,+-*/^%!()eEpi kmC°²_ \n", max_size=60))
def test_calculator_ends_with_a_number_or_words(text: str) -> None:
    with suppress(ToolError):
        assert calculator.calculate(text)[0].is_finite()


same_kind = [
    (one, other)
    for one in {unit.name: unit for unit in units.UNITS.values()}.values()
    for other in {unit.name: unit for unit in units.UNITS.values()}.values()
    if one.kind == other.kind
]


@given(pair=st.sampled_from(same_kind), value=st.integers(-(10**6), 10**6))
def test_conversion_there_and_back_is_the_same(pair: Any, value: int) -> None:
    there = units.convert(Decimal(value), *pair)

    back = units.convert(there, *reversed(pair))

    assert math.isclose(float(back), value, rel_tol=1e-20, abs_tol=1e-15)


@pytest.mark.parametrize(
    ("value", "source", "target", "answer"),
    [
        (26.2, "miles", "km", "42.1648128"),
        (100, "°C", "fahrenheit", "212"),
        (1, "GiB", "MB", "1073.741824"),
        (90, "km/h", "m/s", "25"),
        (3, "square metres", "ft2", "32.291731"),
    ],
)
def test_known_conversions(value: float, source: str, target: str, answer: str) -> None:
    converted = run("units", value=value, from_unit=source, to_unit=target)

    assert converted["value"].startswith(answer)


@given(start=st.dates(date(1900, 1, 1), date(2200, 1, 1)), days=st.integers(0, 900))
def test_differences_and_shifts_agree_with_the_calendar(start: date, days: int) -> None:
    end = start + timedelta(days=days)
    each = [start + timedelta(days=number) for number in range(days)]

    told = run("date-time__difference", start=start.isoformat(), end=end.isoformat())
    working = sum(day.isoweekday() <= 5 for day in each)
    years, months, rest = told["years_months_days"]

    assert (told["days"], told["working_days"], told["hours"]) == (days, working, days * 24)
    assert (0 <= rest <= 31, 0 <= months <= 11, years >= 0) == (True, True, True)
    shifted = run("date-time__shift", start=start.isoformat(), days=days)
    assert shifted["iso"].startswith(end.isoformat())


@time_machine.travel(datetime(2026, 3, 31, 22, 30, tzinfo=ZoneInfo("UTC")), tick=False)
def test_time_is_told_in_any_zone() -> None:
    assert run("date-time__now", timezone="Asia/Tokyo")["iso"] == "2026-04-01T07:30:00+09:00"
    converted = run(
        "date-time__convert",
        moment="2026-03-29T01:30",
        from_timezone="UTC",
        to_timezone="Europe/Berlin",
    )
    assert (converted["iso"], converted["weekday"]) == ("2026-03-29T03:30:00+02:00", "Sunday")


@pytest.mark.parametrize(
    ("arguments", "day"),
    [
        ({"start": "2026-01-31", "months": 1}, "2026-02-28"),
        ({"start": "2024-02-29", "years": 1}, "2025-02-28"),
        ({"start": "2026-04-03", "working_days": 1, "holidays": ["2026-04-06"]}, "2026-04-07"),
        ({"start": "2026-04-04", "working_days": -1}, "2026-04-03"),
        ({"start": "2026-03-28T12:00", "hours": 24, "timezone": "Europe/Berlin"}, "2026-03-29T13"),
    ],
)
def test_dates_before_and_after(arguments: dict[str, Any], day: str) -> None:
    assert run("date-time__shift", **arguments)["iso"].startswith(day)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("date-time__now", {"timezone": "Mars/Olympus"}),
        ("date-time__now", {"timezone": "../../etc/passwd"}),
        ("date-time__shift", {"start": "9999-12-31", "days": 1}),
        ("date-time__shift", {"start": "2026-01-01", "years": -5000}),
        ("date-time__difference", {"start": "soon", "end": "2026-01-01"}),
        ("units", {"value": 1, "from_unit": "kg", "to_unit": "km"}),
        ("units", {"value": 1, "from_unit": "parsec", "to_unit": "km"}),
        ("text__encode", {"text": "%%%", "encoding": "base64", "decode": True}),
        ("text__encode", {"text": "zz", "encoding": "hex", "decode": True}),
        ("text__search", {"text": "a", "pattern": "("}),
        ("text__search", {"text": "a", "pattern": "a", "replace_with": r"\7"}),
        ("text__compare", {"before": "x\n" * 3_000, "after": "y\n" * 3_000}),
    ],
)
def test_what_cannot_be_done_is_said(name: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(ToolError):
        run(name, **arguments)


ENCODED: dict[str, Callable[[str], str]] = {
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "url": lambda text: quote(text, safe=""),
}


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_texts_are_counted_hashed_and_encoded(text: str) -> None:
    assert run("text__count", text=text)["characters"] == len(text)
    assert run("text__hash", text=text)["hex"] == hashlib.sha256(text.encode()).hexdigest()
    for encoding, encode in ENCODED.items():
        encoded = run("text__encode", text=text, encoding=encoding)
        assert encoded == encode(text)
        assert run("text__encode", text=encoded, encoding=encoding, decode=True) == text


def test_texts_are_compared_line_by_line() -> None:
    told = run("text__compare", before="a\nb\nc", after="a\nB\nc\nd")

    assert (told["equal"], told["added"], told["removed"]) == (False, 2, 1)
    assert "+B" in told["diff"]


def test_patterns_find_and_replace() -> None:
    text = "orders AB-12 and CD-34"

    found = run("text__search", text=text, pattern=r"([A-Z]+)-(\d+)")
    replaced = run("text__search", text=text, pattern=r"([A-Z]+)-(\d+)", replace_with=r"\2")

    assert [match["groups"] for match in found["matches"]] == [["AB", "12"], ["CD", "34"]]
    assert (replaced["text"], replaced["replaced"]) == ("orders 12 and 34", 2)


@pytest.mark.parametrize("pattern", [r"(a|a)*$", r"(a|aa)+$", r"(?:a{1,900}){1,900}{900}b"])
def test_pattern_that_never_ends_is_stopped(pattern: str) -> None:
    with pytest.raises(ToolError):
        run("text__search", text="a" * 40 + "!", pattern=pattern + "(*FAIL)")
