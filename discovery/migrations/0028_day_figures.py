"""Sums of turns whose rows are deleted, and what the sweep finds messages by."""

import django.db.models.deletion
from django.db import migrations, models

import acl.platform.stored_json


class Migration(migrations.Migration):

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("discovery", "0027_kept_call_limits"),
    ]

    operations = [
        migrations.CreateModel(
            name="DayFigures",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("begins", models.DateTimeField()),
                ("sums", acl.platform.stored_json.StoredJSONField()),
                ("group", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="auth.group")),
            ],
            options={
                "verbose_name_plural": "day figures",
                "ordering": ["begins", "group"],
                "constraints": [models.UniqueConstraint(fields=("begins", "group"), name="discovery_day_once")],
            },
        ),
        migrations.AddIndex(
            model_name="turn",
            index=models.Index(condition=models.Q(("message", ""), _negated=True), fields=["created_at"], name="discovery_turn_words"),
        ),
    ]
