"""Effects with their confidence, evidence and flags."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("catalog", "0016_gate_for_new_rows"),
    ]

    operations = [
        migrations.AddField(
            model_name="capability",
            name="declared_effect",
            field=models.CharField(blank=True, editable=False, help_text="As its source declares it, if it does.", max_length=8),
        ),
        migrations.AddField(
            model_name="capability",
            name="effect_confidence",
            field=models.FloatField(default=0.0, help_text="From 0 to 1."),
        ),
        migrations.AddField(
            model_name="capability",
            name="effect_evidence",
            field=models.JSONField(blank=True, default=dict, help_text="Reasons for the side effect and for each flag."),
        ),
        migrations.AddField(
            model_name="capability",
            name="effect_flags",
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=24), blank=True, default=list, help_text="Any of reaches_outside, returns_foreign_text and reads_private_data.", size=None),
        ),
        migrations.AlterField(
            model_name="capability",
            name="side_effect",
            field=models.CharField(choices=[("read", "Read"), ("write", "Write"), ("delete", "Delete"), ("unknown", "Unknown")], default="read", help_text="Unknown counts as a write.", max_length=8),
        ),
    ]
