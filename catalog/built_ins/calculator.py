"""Calculator: exact arithmetic over a small grammar of its own, with units. Nothing is evaluated.

sum     = product (("+" | "-") product)*
product = sign (("*" | "/" | "mod") sign)*
sign    = ("+" | "-")? power
power   = value (("^" | "**") sign)?
value   = (number | constant | function "(" sum ("," sum)* ")" | "(" sum ")") ("%" | "!" | unit)*
"""

import math
import re
from collections.abc import Callable
from decimal import (
    ROUND_CEILING,
    ROUND_FLOOR,
    ROUND_HALF_UP,
    Context,
    Decimal,
    DecimalException,
    DivisionByZero,
    InvalidOperation,
    Overflow,
    getcontext,
    localcontext,
)

from catalog.built_ins.base import RowOwner, Toolbox, ToolError, plain_number
from catalog.built_ins.units import DIGITS, Unit, find_unit, require_unit
from catalog.formats.descriptors import JSONObject

SLUG = "calculator"
TOOLS = Toolbox()
LONGEST, DEEPEST, MOST_FACTORIAL = 500, 40, 1_000
# Bounds of what a power or a factorial can cost: larger numbers end as "too large".
_CONTEXT = Context(
    prec=DIGITS, Emax=9_999, Emin=-9_999, traps=[DivisionByZero, InvalidOperation, Overflow]
)
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d{1,4})?|\.\d+)"
    r"|(?P<word>[^\W\d_][\w/]*[²³]?|°[CF]?)|(?P<sign>\*\*|[-+*/^%!(),\u00d7\u00b7\u00f7\u2212]))"
)
_SAME_SIGN = {"\u00d7": "*", "\u00b7": "*", "\u00f7": "/", "\u2212": "-", "^": "**"}
_CONSTANTS = {"pi": Decimal(str(math.pi)), "e": Decimal(1).exp(_CONTEXT)}
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")


def _by_floats(function: Callable[[float], float]) -> Callable[[Decimal], Decimal]:
    return lambda number: Decimal(repr(function(float(number))))


def round_half_up(number: Decimal, digits: Decimal = Decimal(0)) -> Decimal:
    """Round as people do, to so many digits after the point."""
    places = Decimal(1).scaleb(-int(min(Decimal(30), max(Decimal(-30), digits))))
    return number.quantize(places, rounding=ROUND_HALF_UP)


_FUNCTIONS: dict[str, tuple[int, int, Callable[..., Decimal]]] = {
    "sqrt": (1, 1, lambda number: number.sqrt()),
    "abs": (1, 1, abs),
    "round": (1, 2, round_half_up),
    "floor": (1, 1, lambda number: number.to_integral_value(ROUND_FLOOR)),
    "ceil": (1, 1, lambda number: number.to_integral_value(ROUND_CEILING)),
    "min": (1, 50, min),
    "max": (1, 50, max),
    "sum": (1, 50, lambda *numbers: sum(numbers, Decimal(0))),
    "avg": (1, 50, lambda *numbers: sum(numbers, Decimal(0)) / len(numbers)),
    "ln": (1, 1, lambda number: number.ln()),
    "log": (1, 2, lambda number, base=Decimal(10): number.ln() / base.ln()),
    "exp": (1, 1, lambda number: number.exp()),
    "sin": (1, 1, _by_floats(math.sin)),
    "cos": (1, 1, _by_floats(math.cos)),
    "tan": (1, 1, _by_floats(math.tan)),
}


def split_tokens(text: str) -> list[tuple[str, str]]:
    """Return the kind and the text of each token."""
    text = _THOUSANDS.sub(lambda number: number.group().replace(",", ""), text)
    tokens: list[tuple[str, str]] = []
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            raise ToolError(f"'{text[at:].strip()[:20]}' cannot be read as arithmetic.")
        kind, at = str(match.lastgroup), match.end()
        token = match.group(kind)
        tokens.append((kind, _SAME_SIGN.get(token, token)))
    return tokens


class _Reader:
    """A reader of one expression, from left to right. `units` are those that it met."""

    def __init__(self, text: str) -> None:
        self.units: list[Unit] = []
        self._tokens = split_tokens(text)
        self._at = self._depth = 0

    def read(self) -> Decimal:
        """Return the value of the whole text."""
        value = self._sum()
        if (rest := self._next()) != "":
            raise ToolError(f"'{rest}' was not expected there.")
        return value

    def _next(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _take(self, *signs: str) -> str:
        token = self._next()
        if token not in signs or not token:
            return ""
        self._at += 1
        return token

    def _sum(self) -> Decimal:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ToolError("The expression has too many levels.")
        value = self._product()
        while sign := self._take("+", "-"):
            operand = self._product()
            value = value + operand if sign == "+" else value - operand
        self._depth -= 1
        return value

    def _product(self) -> Decimal:
        value = self._sign()
        while sign := self._take("*", "/", "mod"):
            operand = self._sign()
            if sign == "*":
                value *= operand
            else:
                value = value / operand if sign == "/" else value % operand
        return value

    def _sign(self) -> Decimal:
        negative = False
        while sign := self._take("+", "-"):
            negative ^= sign == "-"
        value = self._power()
        return -value if negative else value

    def _power(self) -> Decimal:
        value = self._value()
        if not self._take("**"):
            return value
        self._depth += 1
        if self._depth > DEEPEST:
            raise ToolError("The expression has too many levels.")
        value = value ** self._sign()
        self._depth -= 1
        return value

    def _value(self) -> Decimal:
        value = self._simple_value()
        while True:
            if self._take("%"):
                value /= 100
            elif self._take("!"):
                if value != int(value) or not 0 <= value <= MOST_FACTORIAL:
                    raise ToolError(f"A factorial takes a whole number up to {MOST_FACTORIAL:,}.")
                value = Decimal(math.factorial(int(value))) + 0
            elif (word := self._next()) and word != "mod" and (unit := find_unit(word)):
                self._at += 1
                self.units.append(unit)
                value = unit.to_base(value)
            else:
                return value

    def _simple_value(self) -> Decimal:
        kind, word = self._tokens[self._at] if self._at < len(self._tokens) else ("", "")
        self._at += 1
        if kind == "number":
            return Decimal(word.replace("_", ""))
        if word == "(":
            value = self._sum()
            self._close()
            return value
        if word.lower() in _FUNCTIONS and self._take("("):
            return self._call(word.lower())
        if word.lower() in _CONSTANTS:
            return _CONSTANTS[word.lower()]
        what = f"'{word}' is no number, and no function" if word else "A number is missing"
        raise ToolError(f"{what}. Known are {', '.join([*_CONSTANTS, *_FUNCTIONS])}.")

    def _call(self, name: str) -> Decimal:
        least, most, function = _FUNCTIONS[name]
        values = [self._sum()]
        while self._take(","):
            values.append(self._sum())
        self._close()
        if not least <= len(values) <= most:
            raise ToolError(f"{name} takes {least} to {most} numbers.")
        return function(*values)

    def _close(self) -> None:
        if not self._take(")"):
            raise ToolError("A closing parenthesis is missing.")


def calculate(expression: str, *, convert_to: str = "") -> tuple[Decimal, str]:
    """Return the value and its unit, or ""; ToolError says what cannot be worked out."""
    if len(expression) > LONGEST:
        raise ToolError(f"The expression is longer than {LONGEST} characters.")
    with localcontext(_CONTEXT):
        try:
            reader = _Reader(expression)
            value = reader.read()
            if not value.is_finite():
                raise OverflowError
            kinds = {unit.kind for unit in reader.units}
            if not reader.units and not convert_to:
                return +value, ""
            target = require_unit(convert_to) if convert_to else reader.units[0]
            if kinds != {target.kind}:
                met = " and ".join(sorted(kinds)) or "no unit"
                raise ToolError(f"{target.name} is a {target.kind}; the expression has {met}.")
            if len(reader.units) > 1 and target.added + reader.units[0].added:
                raise ToolError("Temperatures are converted one at a time.")
            return target.from_base(value), target.name
        except (DivisionByZero, ZeroDivisionError):
            raise ToolError("Nothing can be divided by zero.") from None
        except (DecimalException, ValueError, OverflowError):
            raise ToolError("The result is not a number, or too large.") from None


@TOOLS.add("")
def _calculate(arguments: JSONObject, owner: RowOwner) -> JSONObject:
    expression = str(arguments["expression"])
    value, unit = calculate(expression, convert_to=str(arguments.get("convert_to") or ""))
    with localcontext(_CONTEXT):
        places = min(12, int(arguments.get("decimals", 2)))
        getcontext().traps[InvalidOperation] = False
        rounded = value.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)
        digits_shown = plain_number(value if rounded.is_nan() else rounded)
    answer = f"{digits_shown} {unit}".rstrip()
    return {
        "answer": f"{expression} = {answer}",
        "value": digits_shown,
        **({"unit": unit} if unit else {}),
    }
