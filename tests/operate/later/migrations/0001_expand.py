from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("catalog", "0001_squashed_0031_registry_status")]
    operations = [
        migrations.RunSQL(
            "ALTER TABLE catalog_capability ADD COLUMN later_note text;"
            "CREATE TABLE later_thing (id bigint PRIMARY KEY);"
            "CREATE INDEX later_notes ON catalog_capability (later_note)",
            "ALTER TABLE catalog_capability DROP COLUMN later_note; DROP TABLE later_thing",
        )
    ]
