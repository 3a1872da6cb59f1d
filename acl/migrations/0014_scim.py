"""SCIM: what a client knows of people and groups, and the scope of its keys."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("acl", "0013_registered_clients"),
        ("auth", "0012_alter_user_first_name_max_length"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

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
                        ("scim", "Scim"),
                        ("admin", "Admin"),
                    ],
                    max_length=16,
                ),
                size=None,
            ),
        ),
        migrations.AlterField(
            model_name="authorizationcode",
            name="scopes",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(
                    choices=[
                        ("select", "Select"),
                        ("discover", "Discover"),
                        ("execute", "Execute"),
                        ("register", "Register"),
                        ("scim", "Scim"),
                        ("admin", "Admin"),
                    ],
                    max_length=16,
                ),
                size=None,
            ),
        ),
        migrations.CreateModel(
            name="ScimRecord",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("external_id", models.CharField(blank=True, db_index=True, max_length=200)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("modified_at", models.DateTimeField(auto_now=True)),
                (
                    "deleted_at",
                    models.DateTimeField(
                        blank=True,
                        help_text="A client deleted the person: SCIM no longer shows them.",
                        null=True,
                    ),
                ),
                (
                    "group",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="scim",
                        to="auth.group",
                    ),
                ),
                (
                    "user",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="scim",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "SCIM record",
                "ordering": ["pk"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("user__isnull", True), ("group__isnull", True), _connector="XOR"
                        ),
                        name="acl_scimrecord_one_subject",
                    )
                ],
            },
        ),
    ]
