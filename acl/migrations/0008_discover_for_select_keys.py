"""Give `discover` to keys that have `select`.

Lookups and `POST /api/v1/discover` asked for `select` or `discover` until now, so every key with
`select` could do them in effect. They ask for `discover` only from now on: existing keys go on as
they did, new ones have what they are given.
"""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def give_discover(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    keys = apps.get_model("acl", "ApiKey").objects
    for key in keys.filter(scopes__contains=["select"]).exclude(scopes__contains=["discover"]):
        keys.filter(pk=key.pk).update(scopes=sorted({*key.scopes, "discover"}))


class Migration(migrations.Migration):
    dependencies = [("acl", "0007_act_for_others")]

    operations = [migrations.RunPython(give_discover, migrations.RunPython.noop)]
