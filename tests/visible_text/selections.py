"""Selected tools, made without a database."""

from dataclasses import replace
from typing import Any

from catalog.readiness.readiness import ToolReadiness
from catalog.trust.findings import trust_own_text
from discovery.select.selection import Selected


def chosen(full_name: str, **changes: Any) -> Selected:
    asks_first = changes.get("asks_first", False)
    plain = Selected(
        pk=1, identifier=f"tool:{full_name}", full_name=full_name, kind="tool", integration="x",
        display_name=trust_own_text("A tool"), description=trust_own_text("Does something"),
        category="other", tags=(),
        input_schema=None, side_effect="read", asks_first=False, core=False, pinned=False,
        readiness=ToolReadiness(asks_first=asks_first), tokens=10, score=0.5,
        reasons=("its words match",),
    )  # fmt: skip
    return replace(plain, **changes)
