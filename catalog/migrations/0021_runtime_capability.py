"""The life cycle of capabilities made at runtime."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("acl", "0012_register_scope"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("catalog", "0020_readiness"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="RuntimeCapability",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "name",
                    models.CharField(help_text="The action of the capability.", max_length=200),
                ),
                ("full_name", models.CharField(max_length=64, unique=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("proposed", "Proposed"),
                            ("tried", "Tried"),
                            ("approved", "Approved"),
                            ("promoted", "Promoted"),
                            ("retired", "Retired"),
                        ],
                        default="proposed",
                        max_length=8,
                    ),
                ),
                (
                    "withdrawn",
                    models.BooleanField(
                        default=False,
                        help_text="An admin retired it: its name is not given out again.",
                    ),
                ),
                ("expires_at", models.DateTimeField(help_text="Empty once promoted.", null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("changed_at", models.DateTimeField(auto_now=True)),
                (
                    "group",
                    models.ForeignKey(
                        help_text="The proposing group.",
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="auth.group",
                    ),
                ),
                (
                    "integration",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="catalog.integration",
                    ),
                ),
                (
                    "key",
                    models.ForeignKey(
                        help_text="The key it was made with.",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="acl.apikey",
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        help_text="Only they can change it.",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "runtime capabilities",
                "ordering": ["full_name"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "retired"), _negated=True),
                        fields=["expires_at"],
                        name="catalog_runtime_ends",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("integration", "name"), name="one_life_each"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("withdrawn", True), _negated=True),
                            ("state", "retired"),
                            _connector="OR",
                        ),
                        name="withdrawn_is_retired",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ("promoted", "retired")),
                            ("expires_at__isnull", False),
                            _connector="OR",
                        ),
                        name="unpromoted_expires",
                    ),
                ],
            },
        ),
    ]
