"""Spaces that get what is installed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("acl", "0006_answers"),
        ("marketplace", "0004_listing_vectors"),
    ]

    operations = [
        migrations.AddField(
            model_name="installation",
            name="spaces",
            field=models.ManyToManyField(blank=True, related_name="+", to="acl.space"),
        ),
    ]
