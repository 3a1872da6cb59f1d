"""What a program may reach from its cell. Programs installed before keep the whole network."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def keep_the_network(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    integrations = apps.get_model("catalog", "Integration").objects
    integrations.filter(transport="stdio").update(network="all")


class Migration(migrations.Migration):
    dependencies = [("catalog", "0023_index_version")]

    operations = [
        migrations.AddField(
            model_name="integration",
            name="network",
            field=models.CharField(
                choices=[("listed", "Listed hosts only"), ("all", "The whole network")],
                db_default="listed",
                default="listed",
                help_text="What its program may reach from its cell.",
                max_length=8,
            ),
        ),
        migrations.AddField(
            model_name="integration",
            name="allowed_hosts",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=260),
                blank=True,
                db_default=[],
                default=list,
                help_text="Hosts that its program may reach, as api.example.com or *.example.com:8443.",
                size=None,
            ),
        ),
        migrations.CreateModel(
            name="OutgoingHost",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "host",
                    models.CharField(
                        help_text="As a rule: a name, and a port but 443.", max_length=260
                    ),
                ),
                ("allowed", models.BooleanField()),
                ("times", models.PositiveBigIntegerField(default=0)),
                ("last_at", models.DateTimeField()),
                (
                    "integration",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="outgoing_hosts",
                        to="catalog.integration",
                    ),
                ),
            ],
            options={
                "ordering": ["-last_at", "pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("integration", "host"), name="outgoing_host_once"
                    )
                ],
            },
        ),
        migrations.RunPython(keep_the_network, migrations.RunPython.noop),
    ]
