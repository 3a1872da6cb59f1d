"""The generated table of lab/trust.md: what the hostile server tries in its cell."""

import re
from pathlib import Path

from tests.cell.escapes import ATTEMPTS

PAGE = Path(__file__).parents[2] / "lab" / "trust.md"
_BLOCK = re.compile(r"(<!-- generated: escapes -->\n).*?(<!-- end -->)", re.DOTALL)


def render_trust() -> str:
    """Return the page, with the table written anew."""
    page = PAGE.read_text("utf-8")
    return _BLOCK.sub(lambda found: f"{found[1]}{_table()}{found[2]}", page)


def _table() -> str:
    rows = "".join(f"| {place} | {words} |\n" for words, (place, _) in ATTEMPTS.items())
    return f"| goes for | attempt |\n|---|---|\n{rows}"
