"""Relate tools to the lookups of their arguments. A second run changes nothing."""

from typing import Any

from django.db import migrations, models

from catalog.relations.argument_lookups import refresh_lookups

BATCH = 2000
ORIGIN = models.CharField(
    choices=[
        ("metadata", "Metadata"),
        ("preset", "Preset"),
        ("manifest", "Manifest"),
        ("schema", "Schema"),
        ("admin", "Admin"),
    ],
    max_length=8,
)


def relate_all(apps: Any, schema_editor: Any) -> None:
    capabilities = apps.get_model("catalog", "Capability").objects.order_by("integration_id", "pk")
    keys = list(capabilities.values_list("pk", flat=True))
    for start in range(0, len(keys), BATCH):
        refresh_lookups(keys[start : start + BATCH])


def forget_all(apps: Any, schema_editor: Any) -> None:
    apps.get_model("catalog", "Edge").objects.filter(origin="schema").delete()


class Migration(migrations.Migration):
    dependencies = [("catalog", "0001_squashed_0031_registry_status")]

    operations = [
        migrations.AlterField(model_name="edge", name="origin", field=ORIGIN),
        migrations.AlterField(model_name="mention", name="origin", field=ORIGIN),
        migrations.RunPython(relate_all, forget_all, elidable=True),
    ]
