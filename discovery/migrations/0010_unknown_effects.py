"""Calls of tools whose effect is unknown."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("discovery", "0009_sender_of_a_call"),
    ]

    operations = [
        migrations.AlterField(
            model_name="call",
            name="side_effect",
            field=models.CharField(choices=[("read", "Read"), ("write", "Write"), ("delete", "Delete"), ("unknown", "Unknown")], max_length=8),
        ),
    ]
