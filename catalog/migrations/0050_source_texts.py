from django.db import migrations

from acl.platform.stored_json import StoredJSONField


class Migration(migrations.Migration):
    dependencies = [("catalog", "0049_rights_periods")]

    operations = [
        migrations.AddField(
            model_name="capability",
            name="source_texts",
            field=StoredJSONField(
                blank=True,
                db_default={},
                default=dict,
                editable=False,
                help_text="The source's own words where an admin wrote others, by column.",
            ),
        ),
    ]
