"""What may help a package that is in place and crashes: bounds on what it needs. Pure.

Many packages ask for a library from some version on and set no upper bound. When that library's
next great version comes they are installed with it, and crash.
"""

import re
from collections.abc import Iterable, Mapping

_MOST = 3
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*\(?([^;()]*)\)?\s*(;.*)?")
_UPPER = re.compile(r"<|==|~=")
_LOWER = re.compile(r">=?\s*(\d+)")


def bounds_that_may_help(
    requirements: Iterable[str], versions: Mapping[str, str], last_words: str
) -> list[str]:
    """Bounds such as `name<2` for what was taken in a later great version than was asked for.

    Where the last words name some of them, these; else all of them, three at most.
    """
    found: dict[str, str] = {}
    for requirement in requirements:
        match = _REQUIREMENT.fullmatch(requirement)
        if match is None or "extra ==" in (match.group(3) or "") or _UPPER.search(match.group(2)):
            continue
        name = _normal(match.group(1))
        if bound := _bound(name, match.group(2), versions):
            found[name] = bound
    named = [name for name in found if _is_named(name, last_words)]
    return [found[name] for name in named or found][:_MOST]


def _bound(name: str, asked: str, versions: Mapping[str, str]) -> str:
    taken = {_normal(other): version for other, version in versions.items()}.get(name, "")
    great = re.match(r"\d+", taken)
    if great is None:
        return ""
    lower = _LOWER.search(asked)
    least = int(lower.group(1)) if lower else int(great.group()) - 1
    return f"{name}<{least + 1}" if 0 <= least < int(great.group()) else ""


def _is_named(name: str, text: str) -> bool:
    module = re.escape(name).replace(r"\-", "[-_]")
    return re.search(rf"(?<![\w-]){module}(?![\w-])", text, re.IGNORECASE) is not None


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
