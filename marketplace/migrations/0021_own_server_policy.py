from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("marketplace", "0020_source_kinds"),
    ]

    operations = [
        migrations.CreateModel(
            name="OwnServerPolicy",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("allowed", models.BooleanField(default=False)),
            ],
            options={
                "default_permissions": (),
                "constraints": [models.CheckConstraint(condition=models.Q(("pk", 1)), name="marketplace_ownservers_one")],
            },
        ),
    ]
