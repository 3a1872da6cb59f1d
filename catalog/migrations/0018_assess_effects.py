"""Assess the effects of stored capabilities, in batches; a second run changes nothing.

Corrections by admins stay: their evidence says so. Texts and digests stay as they are, so nothing
is reviewed or embedded again.
"""

from typing import Any

from django.db import migrations, transaction

from catalog.effects.assessment import corrected_columns
from catalog.effects.classifier import assess
from catalog.formats.side_effects import side_effect_declared

BATCH = 500
COLUMNS = ["declared_effect", "side_effect", "effect_confidence", "effect_evidence", "effect_flags"]


def assess_all(apps: Any, schema_editor: Any) -> None:
    capabilities = apps.get_model("catalog", "Capability").objects
    last = 0
    while rows := list(
        capabilities.filter(pk__gt=last).select_related("integration").order_by("pk")[:BATCH]
    ):
        with transaction.atomic():
            changed = [row for row in rows if _assess(row)]
            capabilities.bulk_update(changed, COLUMNS, batch_size=BATCH)
        last = rows[-1].pk


def _assess(row: Any) -> bool:
    """Assess one row; return False if it stays as it is."""
    if row.effect_evidence and corrected_columns(row.effect_evidence):
        return False
    before = [getattr(row, name) for name in COLUMNS]
    if not row.effect_evidence:
        row.declared_effect = _declared_effect(row)
    found = assess(row, declared=row.declared_effect)
    row.side_effect, row.effect_confidence = found.effect, found.confidence
    row.effect_evidence = found.evidence_as_json()
    row.effect_flags = found.flag_names
    return before != [getattr(row, name) for name in COLUMNS]


def _declared_effect(row: Any) -> str:
    """Return what the source declared, as far as a row of an earlier release shows it.

    Tools of servers were classified by annotations, those of other sources by their names: an
    effect that differs from the name's was declared.
    """
    if row.kind not in ("tool", "emergent-tool"):
        return str(row.side_effect)
    source = row.integration.source_ref or {}
    if source.get("type") == "starter":
        return str(row.side_effect)
    if row.integration.kind == "mcp" or row.side_effect == "unknown":
        return ""
    by_name = side_effect_declared(row.action, None, otherwise="write")
    return "" if row.side_effect == by_name else str(row.side_effect)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("catalog", "0017_effects")]

    operations = [migrations.RunPython(assess_all, migrations.RunPython.noop, elidable=True)]
