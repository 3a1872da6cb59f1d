"""An index that pages and counts of the marketplace are read from."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("marketplace", "0006_packages"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="listing",
            index=models.Index(
                condition=models.Q(("vanished_at", None)),
                fields=["title", "id"],
                include=("kind", "category", "source", "slug"),
                name="listing_offered",
            ),
        ),
    ]
