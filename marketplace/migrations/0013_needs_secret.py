"""Installations stop at a missing secret, before anything is fetched."""

from django.db import migrations, models

STATES = [
    ("configure", "Configure"),
    ("queued", "Queued"),
    ("needs_secret", "Needs a secret"),
    ("fetching", "Fetching"),
    ("checking", "Checking"),
    ("connecting", "Connecting"),
    ("listing", "Listing"),
    ("storing", "Storing"),
    ("embedding", "Embedding"),
    ("needs_approval", "needs approval"),
    ("ready", "Ready"),
    ("failed", "Failed"),
    ("cancelled", "Cancelled"),
]


class Migration(migrations.Migration):
    dependencies = [("marketplace", "0012_listing_review")]

    operations = [
        migrations.AlterField(
            model_name="installation",
            name="state",
            field=models.CharField(choices=STATES, default="queued", max_length=16),
        ),
        migrations.AlterField(
            model_name="installationevent",
            name="state",
            field=models.CharField(choices=STATES, max_length=16),
        ),
    ]
