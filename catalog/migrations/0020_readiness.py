"""The code of an integration's last problem, and since when it fails."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0019_server_categories")]

    operations = [
        migrations.AddField(
            model_name="integration",
            name="failing_since",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="integration",
            name="problem",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Code of the last problem.",
                max_length=24,
            ),
        ),
    ]
