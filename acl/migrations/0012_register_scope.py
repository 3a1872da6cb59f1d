"""The scope `register`: capabilities made at runtime."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("acl", "0011_keys_end_with_their_maker")]

    operations = [
        migrations.AlterField(
            model_name="apikey",
            name="scopes",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(
                    choices=[
                        ("select", "Select"),
                        ("discover", "Discover"),
                        ("execute", "Execute"),
                        ("register", "Register"),
                        ("admin", "Admin"),
                    ],
                    max_length=16,
                ),
                size=None,
            ),
        ),
    ]
