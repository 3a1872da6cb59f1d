"""Causes of a crash at the start, and bounds on a dependency that may help.

Many packages require a minimum version of a library without an upper bound. They crash when the
library's next major version is installed with them. A bound is offered only if the traceback ends
at that library, or in the package's own code at an object of the only library that can be meant;
every other crash has an unknown cause. A library that is required without any bound, or by another
library only, is bounded to the major versions before the installed one.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*\(?([^;()]*)\)?\s*(;.*)?")
_UPPER = re.compile(r"<|==|~=")
_LOWER = re.compile(r">=?\s*(\d+)")
# Python's messages about a module that is not there, or lacks what is imported from it.
_FAILING_MODULE = re.compile(
    r"^(?:ModuleNotFoundError: No module named"
    r"|ImportError: cannot import name .{1,200}? from(?: partially initialized module)?"
    r"|AttributeError: (?:partially initialized )?module) '([\w.]{1,200})'",
    re.MULTILINE,
)


# An object of a library that is used otherwise than its new version allows.
_FAILING_OBJECT = re.compile(
    r"^AttributeError: '(?:[\w.]{1,200}\.)?(\w{1,200})' object has no attribute '", re.MULTILINE
)
_LAST_FILE = re.compile(r'.*File "[^"]*?site-packages/(\w{1,200})[/.]', re.DOTALL)


# What a program says last of what it misses.
_VARIABLE = re.compile(r"(?<![\w/.$])([A-Z][A-Z0-9]{1,40}_[A-Z0-9_]{1,60})(?![\w(])")
_MISSING = re.compile(
    r"environment|\benv\b|variable|required|must be set|not set|missing|not provided|undefined",
    re.IGNORECASE,
)
_NO_FILE = re.compile(
    r"No such file or directory: '([^'\n]{1,200})'|spawn (\S{1,200}) ENOENT"
    r"|(?:^|: )([\w./-]{1,200}): (?:command )?not found",
    re.MULTILINE,
)
_USAGE = re.compile(r"^[ \t]{0,20}(?:\[\d{1,6}\] )?usage:", re.IGNORECASE | re.MULTILINE)
_NO_BINARY = re.compile(r"bindings file|\.node'|prebuilt|node-gyp", re.IGNORECASE)
_MOST_NAMES = 5


def name_cause(output: str) -> str:
    """Return what a program misses by its last words, and what helps; "" if they do not say it."""
    lines = output.splitlines()
    names: dict[str, None] = {}
    for line, following in pairwise([*lines, ""]):
        if _MISSING.search(line) or _MISSING.search(following):
            names |= dict.fromkeys(_VARIABLE.findall(line))
    if names:
        listed = ", ".join(list(names)[:_MOST_NAMES])
        return f"It misses {listed}. Add it again with NAME=value before its command."
    if _NO_BINARY.search(output):
        return "A compiled part is missing, which an install script would fetch; none is run."
    if match := _NO_FILE.search(output):
        missing = next(filter(None, match.groups()))
        return f"It needs {missing}, which is not there for it."
    if _USAGE.search(output):
        return "It shows its usage, so its command needs further arguments."
    return ""


def suggest_bounds(
    requirements: Iterable[str],
    versions: Mapping[str, str],
    modules: Mapping[str, Iterable[str]],
    output: str,
    *,
    package: str,
    definers: Callable[[str], Iterable[str]] = lambda name: (),
) -> list[str]:
    """Return a bound such as `name<2` for the library at which the traceback ends, or nothing.

    `modules` has the distributions of each top-level module. If the package requires the library,
    then without an upper bound, and it must be installed in a later major version than the one
    required: so it was released after the package. `definers` returns the distributions that have
    a class of that name.
    """
    failing = _FAILING_MODULE.findall(output)
    if not failing:
        return _bounds_of_own_code(list(requirements), versions, modules, output, package, definers)
    holders = {_normal(name) for name in modules.get(failing[-1].partition(".")[0], ())}
    # Distributions that share a namespace cannot be told apart.
    if len(holders) != 1:
        return []
    installed = {_normal(name): version for name, version in versions.items()}
    (holder,) = holders
    if holder == _normal(package):
        return []
    taken = installed.get(holder, "")
    matching = [requirement for requirement in requirements if _is_required(requirement, holder)]
    bounded = [
        _bound(requirement, holder, taken)
        for requirement in matching
        if re.search(r"\d", _versions_of(requirement))
    ]
    bounds = bounded or [_bound_below(holder, taken)]
    return [bound for bound in bounds if bound][:1]


def _bounds_of_own_code(
    requirements: list[str],
    versions: Mapping[str, str],
    modules: Mapping[str, Iterable[str]],
    output: str,
    package: str,
    definers: Callable[[str], Iterable[str]],
) -> list[str]:
    """Return the bound of the one library that can be meant, if the package's own code failed."""
    failing = _FAILING_OBJECT.findall(output)
    last = _LAST_FILE.match(output) if failing else None
    distributions = {_normal(name) for name in modules.get(last.group(1), ())} if last else set()
    if distributions != {_normal(package)}:
        return []
    installed = {_normal(name): version for name, version in versions.items()}
    bounds = {
        name: bound
        for requirement in requirements
        for name, version in installed.items()
        if (bound := _bound(requirement, name, version))
    }
    if len(bounds) > 1:
        definer_names = {_normal(name) for name in definers(failing[-1])}
        bounds = {name: bound for name, bound in bounds.items() if name in definer_names}
    return list(bounds.values()) if len(bounds) == 1 else []


def _is_required(requirement: str, holder: str) -> bool:
    """Return True if the requirement is of this library, whatever extras are installed."""
    match = _REQUIREMENT.fullmatch(requirement)
    if match is None or "extra ==" in (match.group(3) or ""):
        return False
    return _normal(match.group(1)) == holder


def _versions_of(requirement: str) -> str:
    match = _REQUIREMENT.fullmatch(requirement)
    return match.group(2) if match else ""


def _bound_below(holder: str, taken: str) -> str:
    """Return a bound to what came before the installed major version; "" for years and firsts."""
    major = re.match(r"\d+", taken)
    return f"{holder}<{major.group()}" if major and 1 < int(major.group()) < 1_000 else ""


def _bound(requirement: str, holder: str, taken: str) -> str:
    match = _REQUIREMENT.fullmatch(requirement)
    if match is None or _normal(match.group(1)) != holder:
        return ""
    versions, lower = match.group(2), _LOWER.search(match.group(2))
    if "extra ==" in (match.group(3) or "") or _UPPER.search(versions) or lower is None:
        return ""
    required, major = int(lower.group(1)), re.match(r"\d+", taken)
    return f"{holder}<{required + 1}" if major and required < int(major.group()) else ""


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
