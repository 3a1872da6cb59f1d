"""How the tools of another version differ from those that are approved: pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from catalog.formats.descriptors import JSONObject
from catalog.trust.fingerprint import digest_text, pinned_part, serialize_definition


def differences(
    before: Mapping[str, JSONObject], after: Iterable[Mapping[str, Any]]
) -> list[JSONObject]:
    """What is added, changed and removed, by name; of what is changed, the fields that are."""
    offered = {str(tool.get("name", "")): pinned_part(tool) for tool in after}
    told = []
    for name in sorted({*before, *offered}):
        old, new = before.get(name), offered.get(name)
        if old == new or (old and new and serialize_definition(old) == serialize_definition(new)):
            continue
        what = "added" if old is None else "removed" if new is None else "changed"
        told.append(
            {
                "name": name,
                "what": what,
                "fields": _differing(old or {}, new or {}) if what == "changed" else [],
                "before": old,
                "after": new,
            }
        )
    return told


def tools_digest(tools: Iterable[Mapping[str, Any]]) -> str:
    """What an approval of a list of tools is bound to."""
    parts = sorted(serialize_definition(pinned_part(tool)) for tool in tools)
    return digest_text("\n".join(parts))


def _differing(old: JSONObject, new: JSONObject) -> list[str]:
    return sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
