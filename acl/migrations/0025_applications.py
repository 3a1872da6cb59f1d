"""Chat applications, with the version of the rights and its periods (`acl/models/application.py`)."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

import acl.platform.stored_json
from acl.models import Application


class Migration(migrations.Migration):

    dependencies = [
        ("acl", "0024_sign_in_group"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.AlterField(
            model_name="rightschange",
            name="subject",
            field=models.SmallIntegerField(choices=[(0, "Everyone"), (1, "Person"), (2, "Group"), (3, "Readiness"), (4, "Application")]),
        ),
        migrations.CreateModel(
            name="Application",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=80, unique=True)),
                ("description", models.CharField(blank=True, max_length=300)),
                ("defaults", acl.platform.stored_json.StoredJSONField(blank=True, default=dict, help_text="Fields of requests that apply where a request leaves them out.")),
                ("integrations", django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, default=list, help_text="Empty for all.", size=None)),
                ("calls_a_minute", models.PositiveIntegerField(blank=True, null=True)),
                ("calls_a_day", models.PositiveIntegerField(blank=True, null=True)),
                ("tokens_a_day", models.PositiveBigIntegerField(blank=True, null=True)),
                ("cpu_a_minute", models.PositiveIntegerField(blank=True, help_text="Milliseconds, of all its keys together.", null=True)),
                ("alert_below", models.FloatField(blank=True, help_text="The success rate below which its owners are told; empty for the deployment's.", null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("group", models.ForeignKey(blank=True, help_text="The group that owns it; without one it is the admins' own.", null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="applications", to="auth.group")),
            ],
            options={
                "ordering": ["name", "pk"],
            },
        ),
        migrations.AddField(
            model_name="apikey",
            name="application",
            field=models.ForeignKey(blank=True, help_text="The chat application that it belongs to.", null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="keys", to="acl.application"),
        ),
        migrations.AddConstraint(
            model_name="application",
            constraint=models.CheckConstraint(condition=models.Q(("name", ""), _negated=True), name="acl_application_named"),
        ),
        migrations.AddConstraint(
            model_name="application",
            constraint=models.CheckConstraint(condition=models.Q(models.Q(("calls_a_minute", None), ("calls_a_minute__gt", 0), _connector="OR"), models.Q(("calls_a_day", None), ("calls_a_day__gt", 0), _connector="OR"), models.Q(("tokens_a_day", None), ("tokens_a_day__gt", 0), _connector="OR"), models.Q(("cpu_a_minute", None), ("cpu_a_minute__gt", 0), _connector="OR"), models.Q(("alert_below", None), models.Q(("alert_below__gte", 0), ("alert_below__lte", 1)), _connector="OR")), name="acl_application_limits"),
        ),
        *(
            migrations.RunSQL(trigger.create_sql(), trigger.drop_sql())
            for trigger in Application.triggers
        ),
    ]
