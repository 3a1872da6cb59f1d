"""Approval policy: the calls that a person must approve, by rights and by PEGBOARD_APPROVE."""

from typing import Any

from django.conf import settings

from catalog.effects.assessment import SURE

# Effects that each value of PEGBOARD_APPROVE asks for, besides what the rights ask for. An unknown
# effect counts as a write.
_ASKED = {
    "propose": [],
    "delete": ["delete"],
    "write": ["unknown", "write", "delete"],
    "all": ["read", "unknown", "write", "delete"],
}


def asks_first_sql(*, mode: str, capability: str, integration: str) -> str:
    """Return true where a person approves each call: by the rights' mode, or by the effect.

    Needs the parameters of `policy_parameters`.
    """
    return _ASKS_FIRST.format(
        mode=mode,
        c=capability,
        i=integration,
        sure=SURE,
        trusted=_TRUSTED.format(i=integration),
        corrected=_EVIDENCE.format(c=capability, parts=_BY_ADMIN),
        named_delete=_EVIDENCE.format(c=capability, parts=_NAMED_DELETE),
    )


def policy_parameters() -> dict[str, Any]:
    """Return the deployment's policy as parameters of `asks_first_sql`."""
    trusted = settings.PEGBOARD_TRUSTED_SERVERS
    return {
        "asked_effects": _ASKED[settings.PEGBOARD_APPROVE],
        "trusted": list(trusted),
        "all_trusted": "*" in trusted,
    }


# A tool of a server reads only if its words say so with enough confidence: annotations alone never
# reach that. A server that the operator trusts may say so, and an admin's word stands.
_ASKS_FIRST = """({mode} = 1 OR CASE
    WHEN {i}.kind NOT IN ('mcp', 'openapi') OR ({c}.effect_confidence >= {sure} AND NOT {trusted})
      THEN {c}.side_effect
    WHEN {corrected} THEN {c}.side_effect
    WHEN {trusted} THEN CASE {c}.annotations ->> 'readOnlyHint' WHEN 'true' THEN 'read'
      ELSE {c}.side_effect END
    WHEN {named_delete} THEN 'delete'
    WHEN {c}.side_effect = 'read' THEN 'write'
    ELSE {c}.side_effect END = ANY (%(asked_effects)s::text[]))"""
_TRUSTED = "(%(all_trusted)s::bool OR {i}.slug = ANY (%(trusted)s::text[]))"
_EVIDENCE = """({c}.effect_evidence @> '{{"side_effect": [{{{parts}}}]}}'::jsonb)"""
_BY_ADMIN = '"source": "admin"'
_NAMED_DELETE = '"source": "name", "says": "delete"'
