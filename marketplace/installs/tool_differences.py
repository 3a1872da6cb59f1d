"""Differences between the approved tools and those of another version."""

from collections.abc import Iterable, Mapping
from typing import Any

from catalog.formats.descriptors import JSONObject
from catalog.trust.fingerprint import (
    canonical_definition,
    digest_definition,
    digest_text,
    pinned_part,
)


def compare_tools(
    before: Mapping[str, JSONObject], after: Iterable[Mapping[str, Any]]
) -> list[JSONObject]:
    """Return added, changed and removed tools by name, with the fields that changed."""
    offered = {str(tool.get("name", "")): pinned_part(tool) for tool in after}
    found = []
    for name in sorted({*before, *offered}):
        old, new = before.get(name), offered.get(name)
        if old == new or (old and new and digest_definition(old) == digest_definition(new)):
            continue
        what = "added" if old is None else "removed" if new is None else "changed"
        found.append(
            {
                "name": name,
                "what": what,
                "fields": _changed_fields(old or {}, new or {}) if what == "changed" else [],
                "before": old,
                "after": new,
            }
        )
    return found


def tools_digest(tools: Iterable[Mapping[str, Any]]) -> str:
    """Return the digest to which the approval of a list of tools is bound."""
    parts = sorted(canonical_definition(pinned_part(tool)) for tool in tools)
    return digest_text("\n".join(parts))


def _changed_fields(old: JSONObject, new: JSONObject) -> list[str]:
    return sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
