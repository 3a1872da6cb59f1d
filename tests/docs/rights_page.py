"""Generated parts of docs/access.md and docs/access-cases.md: `python -m tests.docs`.

The order of precedence comes from the description of the rights, the rest from the worked cases.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from acl.rights.precedence import PRECEDENCE, SPACE, SUBJECT, TARGET
from tests.access.worked_cases import CASES, UNITED_CASES

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (DOCS / "access.md", DOCS / "access-cases.md")
_BLOCK = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def render_access(page: Path) -> str:
    """Return a page's text, with its generated parts written anew."""
    text = page.read_text("utf-8")
    return _BLOCK.sub(lambda found: f"{found[1]}{_PARTS[found[2]]()}{found[3]}", text)


def _precedence() -> str:
    places = enumerate(PRECEDENCE, 1)
    rows = ([n, each.name, ", then ".join(each.values) or "the nearest"] for n, each in places)
    table = _table("| | compared by | wins |\n|--:|---|---|\n", rows)
    left = [
        f"{each.name} ({' or '.join(each.values) or 'how far away'})"
        for each in (SPACE, SUBJECT, TARGET)
        if each not in PRECEDENCE
    ]
    return f"{table}\nNot compared: {'; '.join(left) or 'nothing'}.\n"


def _surprises() -> str:
    return "".join(f"- {case.surprise} (Case {case.number}.)\n" for case in CASES if case.surprise)


def _united_cases() -> str:
    return _table(
        "| # | Given | Rules | But | Asks in | alice may |\n|--:|---|---|---|---|---|\n",
        ([f"U{c.number}", c.given, c.rules, c.but, c.place, c.answer] for c in UNITED_CASES),
    )


def _cases() -> str:
    return _table(
        "| # | Given | Rules | But | alice may |\n|--:|---|---|---|---|\n",
        ([case.number, case.given, case.rules, case.but, case.answer] for case in CASES),
    )


_PARTS = {
    "precedence": _precedence,
    "surprises": _surprises,
    "united_cases": _united_cases,
    "cases": _cases,
}


def _table(head: str, rows: Iterable[Iterable[object]]) -> str:
    lines = ("| " + " | ".join(map(str, row)) + " |\n" for row in rows)
    return head + "".join(lines).replace("|  |", "| |").replace("|  |", "| |")
