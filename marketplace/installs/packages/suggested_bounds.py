"""Suggested bounds on dependencies of a package that crashes at its start.

Many packages require a minimum version of a library without an upper bound. They crash when the
library's next major version is installed with them.
"""

import re
from collections.abc import Iterable, Mapping

_MOST = 3
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*\(?([^;()]*)\)?\s*(;.*)?")
_UPPER = re.compile(r"<|==|~=")
_LOWER = re.compile(r">=?\s*(\d+)")


def suggest_bounds(
    requirements: Iterable[str], versions: Mapping[str, str], output: str
) -> list[str]:
    """Return bounds such as `name<2` for libraries in a later major version than required.

    If the last output names some of them, only these; else up to three.
    """
    found: dict[str, str] = {}
    for requirement in requirements:
        match = _REQUIREMENT.fullmatch(requirement)
        if match is None or "extra ==" in (match.group(3) or "") or _UPPER.search(match.group(2)):
            continue
        name = _normal(match.group(1))
        if bound := _bound(name, match.group(2), versions):
            found[name] = bound
    named = [name for name in found if _is_named(name, output)]
    return [found[name] for name in named or found][:_MOST]


def _bound(name: str, asked: str, versions: Mapping[str, str]) -> str:
    taken = {_normal(other): version for other, version in versions.items()}.get(name, "")
    major = re.match(r"\d+", taken)
    if major is None:
        return ""
    lower = _LOWER.search(asked)
    major_required = int(lower.group(1)) if lower else int(major.group()) - 1
    return f"{name}<{major_required + 1}" if 0 <= major_required < int(major.group()) else ""


def _is_named(name: str, text: str) -> bool:
    module = re.escape(name).replace(r"\-", "[-_]")
    return re.search(rf"(?<![\w-]){module}(?![\w-])", text, re.IGNORECASE) is not None


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
