"""Categories by server: assign the inferred ones anew. A second run changes nothing."""

from typing import Any

from django.db import migrations

from catalog.registration.category_assignment import assign_categories

BATCH = 100


def assign_all(apps: Any, schema_editor: Any) -> None:
    keys = list(
        apps.get_model("catalog", "Integration").objects.order_by("pk").values_list("pk", flat=True)
    )
    for start in range(0, len(keys), BATCH):
        assign_categories(keys[start : start + BATCH])


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("catalog", "0018_assess_effects")]

    operations = [migrations.RunPython(assign_all, migrations.RunPython.noop, elidable=True)]
