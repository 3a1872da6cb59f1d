"""CPU time of expressions and text readers grows less than quadratically with the input."""

import ast
import importlib
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from functools import lru_cache, partial
from itertools import islice, product
from pathlib import Path
from re import _constants as ops
from re import _parser as parser
from types import ModuleType
from typing import Any

import pytest
import regex

from acl.web.markdown import safe_html

# Below this, caches and first calls dominate the measurement.
TOO_SHORT = 0.004  # seconds
# Factor for two doublings: linear is 4, n log n 5, n ** 1.5 is 8, quadratic is 16.
MOST_GROWTH = 9.0
# Between these, a neighbour may have slowed one of the two: both are measured again.
UNCLEAR = (5.5, 13.0)
TOO_LONG = 0.3  # seconds; linear work never comes near
_TRIES, _MORE_TRIES = 3, 6


def cpu_seconds(call: Callable[[], object]) -> float:
    """Return the thread's CPU seconds for the call."""
    started = time.thread_time()
    call()
    return time.thread_time() - started


def growth(call: Callable[[int], object], size: int) -> str:
    """Describe the call's growth from `size` on if it is much faster than n log n; otherwise "".

    `call` takes the size of its input. The input grows fourfold until it can be measured.
    """
    for _ in range(3):
        before = least(call, size)
        if before > TOO_LONG:
            return f"{before * 1000:.0f} ms for {size}"
        if before * 4 >= TOO_SHORT:
            return _compare(call, size, before)
        size *= 4
    return ""


def _compare(call: Callable[[int], object], size: int, before: float) -> str:
    after = least(call, 4 * size)
    for _ in range(_MORE_TRIES):
        if after > TOO_LONG or not UNCLEAR[0] < after / before < UNCLEAR[1]:
            break
        before, after = min(before, least(call, size)), min(after, least(call, 4 * size))
    told = f"{before * 1000:.1f} ms for {size}, {after * 1000:.1f} ms for {4 * size}"
    return told if after > TOO_LONG or after / before > MOST_GROWTH else ""


def least(call: Callable[[int], object], size: int) -> float:
    """Return the smallest measurement, since noise only adds."""
    smallest = cpu_seconds(lambda: call(size))
    for _ in range(_TRIES - 1):
        if smallest > TOO_LONG:
            break
        smallest = min(smallest, cpu_seconds(lambda: call(size)))
    return smallest


Items = Any
_ENDS = ("", "\x00", "\n", " -", "a")
_MOST_PUMPS, _MOST_STARTS = 22, 5
_CLASSES = {
    ops.CATEGORY_DIGIT: "7",
    ops.CATEGORY_NOT_DIGIT: "a",
    ops.CATEGORY_SPACE: " ",
    ops.CATEGORY_NOT_SPACE: "a",
    ops.CATEGORY_WORD: "a",
    ops.CATEGORY_NOT_WORD: "-",
}
# Texts that people send, whatever the expression.
COMMON = ("a", "A", "0", "_", "-", " ", "\n", "a_", "a ", "aA", "a.", ", and ", '"', "[", "${", "é")


def attacks(source: str, flags: int, size: int) -> Iterator[str]:
    """Yield attack texts of about `size` characters."""
    tree = parser.parse(source, flags)
    pumps = dict.fromkeys((*(p for _, p in _repetitions(tree, "")), *COMMON))
    starts = dict.fromkeys(("", *(start for start, _ in _repetitions(tree, "")), _sample(tree)))
    used = [pump for pump in pumps if pump][:_MOST_PUMPS]
    for start, pump, end in product(list(starts)[:_MOST_STARTS], used, _ENDS):
        yield start + pump * (size // len(pump)) + end
    starts = dict.fromkeys(list(starts)[: 4 * _MOST_STARTS])
    for pump in dict.fromkeys(f"{start}{pump}" for start in starts for pump in used):
        yield pump * (size // max(1, len(pump)))
    for start in starts:  # many entries first, then many repeats
        for pump in used:
            half = size // 2
            yield start * (half // max(1, len(start))) + pump * (half // len(pump)) + "\x00"


def _repetitions(items: Items, before: str) -> Iterator[tuple[str, str]]:
    """Yield each repetition: a text that leads to it, and different texts that it repeats."""
    for operation, argument in items:
        for inner in _inner(operation, argument):
            yield from _repetitions(inner, before)
        if operation in _REPEATS:
            _, most, body = argument
            if most > 8:
                for text in _samples(body):
                    yield before, text
        before += _one(operation, argument)


_REPEATS = {ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT}


def _inner(operation: Any, argument: Any) -> list[Items]:
    if operation in _REPEATS:
        return [argument[2]]
    if operation is ops.SUBPATTERN:
        return [argument[3]]
    if operation is ops.ATOMIC_GROUP:
        return [argument]
    if operation is ops.BRANCH:
        return list(argument[1])
    if operation in {ops.ASSERT, ops.ASSERT_NOT}:
        return [argument[1]]
    return []


def _samples(items: Items) -> list[str]:
    """Yield texts that the items match: one for each branch and kind of character."""
    found = [""]
    for operation, argument in items:
        found = [a + b for a, b in product(found, _ones(operation, argument))][:12]
    return [text for text in dict.fromkeys(found) if text]


def _ones(operation: Any, argument: Any) -> list[str]:
    if operation is ops.BRANCH:
        return [text for one in argument[1] for text in (_samples(one) or [""])][:8]
    if operation is ops.IN:
        return _members(argument)
    if operation is ops.SUBPATTERN:
        return _samples(argument[3]) or [""]
    if operation is ops.ATOMIC_GROUP:
        return _samples(argument) or [""]
    if operation in _REPEATS:
        least, most, body = argument
        once = _samples(body) or [""]
        return [text * max(least, min(1, most)) for text in once]
    return [_one(operation, argument)]


def _sample(items: Items) -> str:
    return "".join(_one(operation, argument) for operation, argument in items)


def _one(operation: Any, argument: Any) -> str:
    """Return a short text that matches the item."""
    if operation is ops.LITERAL:
        return chr(argument)
    if operation is ops.NOT_LITERAL:
        return "a" if argument != ord("a") else "b"
    if operation is ops.ANY:
        return "a"
    if operation is ops.IN:
        return str(_members(argument)[0])
    if operation is ops.BRANCH:
        return _sample(argument[1][0])
    if operation is ops.SUBPATTERN:
        return _sample(argument[3])
    if operation is ops.ATOMIC_GROUP:
        return _sample(argument)
    if operation in _REPEATS:
        return str(_sample(argument[2]) * min(int(argument[0]), 200))
    return ""


def _members(argument: Any) -> list[str]:
    """Return some characters of a class."""
    negated = any(kind is ops.NEGATE for kind, _ in argument)
    if negated:
        taken = re.compile("(?s:.)")
        return [one for one in ("a", " ", "-", "0", "\n", "é") if _fits(one, argument)] or [
            taken.pattern[0]
        ]
    found = []
    for kind, value in argument:
        if kind is ops.LITERAL:
            found.append(chr(value))
        elif kind is ops.RANGE:
            found.append(chr(value[0]))
        elif kind is ops.CATEGORY:
            found.append(_CLASSES[value])
    return list(dict.fromkeys(found))[:6] or ["a"]


def _fits(character: str, argument: Any) -> bool:
    """Return True if the negated class contains the character."""
    for kind, value in argument:
        if kind is ops.LITERAL and ord(character) == value:
            return False
        if kind is ops.RANGE and value[0] <= ord(character) <= value[1]:
            return False
        if kind is ops.CATEGORY and _of_category(character, value):
            return False
    return True


def _of_category(character: str, category: Any) -> bool:
    word, space, digit = character.isalnum() or character == "_", character.isspace(), False
    digit = character.isdigit()
    return {
        ops.CATEGORY_DIGIT: digit,
        ops.CATEGORY_NOT_DIGIT: not digit,
        ops.CATEGORY_SPACE: space,
        ops.CATEGORY_NOT_SPACE: not space,
        ops.CATEGORY_WORD: word,
        ops.CATEGORY_NOT_WORD: not word,
    }[category]


PROJECT = Path(__file__).resolve().parents[2]
PACKAGES = ("acl", "catalog", "discovery", "marketplace", "pegboard_client")
FUNCTIONS = {"compile", "match", "fullmatch", "search", "sub", "subn"}
FUNCTIONS |= {"split", "findall", "finditer"}
ANCHORED = {"match", "fullmatch"}
# Started by hand, or by a server that forks on import.
# These need libraries that are not among the tests' packages; they must have no expressions.
FRAMEWORKS = PROJECT / "docs" / "client" / "pegboard_client" / "frameworks"
BESIDE = ("litellm_hook", "google_adk_tools", "strands_tools", "agno_tools", "crewai_tools")
_NOT_IMPORTED = ("manage", "__main__", *BESIDE)


@dataclass(slots=True)
class Pattern:
    """A regular expression, its place, and its use."""

    place: str
    source: str
    flags: int
    methods: set[str] = field(default_factory=set)

    @property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self.source, self.flags)

    @property
    def is_anchored(self) -> bool:
        return bool(self.methods) and self.methods <= ANCHORED


def product_modules() -> Iterator[ModuleType]:
    """Import and yield each module of the product."""
    for package in PACKAGES:
        root = importlib.import_module(package)
        for found in pkgutil.walk_packages(root.__path__, f"{package}."):
            if not found.name.rpartition(".")[2].startswith(_NOT_IMPORTED):
                yield importlib.import_module(found.name)


def product_patterns() -> list[Pattern]:
    """Yield each expression that a module stores or passes to a call."""
    found: dict[tuple[str, int], Pattern] = {}
    for module in product_modules():
        tree = ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8"))
        for pattern in (*_kept(module, tree), *_inline(module, tree)):
            known = found.setdefault((pattern.source, pattern.flags), pattern)
            known.methods |= pattern.methods
    return list(found.values())


def unicode_patterns() -> Iterator[tuple[str, Any]]:
    """Yield each expression of the `regex` module that a module stores, by its place."""
    for module in product_modules():
        for name, value in vars(module).items():
            if isinstance(value, regex.Pattern):
                yield f"{module.__name__}.{name}", value


def unreadable_calls() -> Iterator[str]:
    """Yield calls of `re` with computed expressions, which no test can enumerate."""
    for module in product_modules():
        tree = ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8"))
        for call in _calls_in_functions(tree):
            if _constant(call) is None:
                yield f"{module.__name__}: {ast.unparse(call)}"


def _kept(module: ModuleType, tree: ast.Module) -> Iterator[Pattern]:
    for name, value in vars(module).items():
        for each in _within(value):
            methods = _methods_of(name, tree) if each is value else {"search"}
            yield Pattern(f"{module.__name__}.{name}", each.pattern, each.flags, methods)


def _within(value: object) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _within(inner)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from _within(inner)
    elif is_dataclass(value) and not isinstance(value, type):
        for each in fields(value):
            yield from _within(getattr(value, each.name))


def _methods_of(name: str, tree: ast.Module) -> set[str]:
    """Return the methods that use it; search if it is passed on."""
    used, methods = 0, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            used += 1
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == name:
            used -= 1
            methods.add(node.attr)
    return methods if methods and not used else methods | {"search"}


def _inline(module: ModuleType, tree: ast.Module) -> Iterator[Pattern]:
    for call in _re_calls(tree):
        if (source := _constant(call)) is not None:
            flags = _flags(call)
            place = f"{module.__name__}:{call.lineno}"
            name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            if name != "compile":
                yield Pattern(place, source, flags, {name})


def _calls_in_functions(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _re_calls(node)


def _re_calls(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in FUNCTIONS
            and getattr(node.func.value, "id", "") == "re"
        ):
            yield node


def _constant(call: ast.Call) -> str | None:
    try:
        source = ast.literal_eval(call.args[0])
    except (ValueError, IndexError):
        return None
    return source if isinstance(source, str) else None


def _flags(call: ast.Call) -> int:
    """Parse the flags from anywhere in the call."""
    values = (*call.args, *(word.value for word in call.keywords))
    flags = 0
    for node in (node for value in values for node in ast.walk(value)):
        flag = getattr(re, node.attr, None) if isinstance(node, ast.Attribute) else None
        flags |= flag if isinstance(flag, re.RegexFlag) else 0
    return flags


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
    for module in BESIDE:
        text = (FRAMEWORKS / f"{module}.py").read_text("utf-8")
        assert re.search(r"^(import|from) (re|regex)\b", text, re.MULTILINE) is None
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
