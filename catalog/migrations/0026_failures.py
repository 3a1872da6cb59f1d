"""Number of consecutive failures of an integration's server."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0025_api_document")]

    operations = [
        migrations.AddField(
            model_name="integration",
            name="failures",
            field=models.PositiveIntegerField(
                db_default=0,
                default=0,
                editable=False,
                help_text="Failed checks and calls in a row.",
            ),
        ),
    ]
