"""Sources as rows, and listings with their versions, files and what browsing needs."""

from typing import Any

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

TITLES = {"starter": "Starter collection", "import": "Loaded by a command"}


def make_sources(apps: Any, schema_editor: object) -> None:
    """A row for each name that listings have for their source so far."""
    source, listing = (
        apps.get_model("marketplace", "Source"),
        apps.get_model("marketplace", "Listing"),
    )
    for name in listing.objects.order_by().values_list("source_name", flat=True).distinct():
        kind = name if name in TITLES else "import"
        row = source.objects.create(
            slug=name, kind=kind, title=TITLES.get(name, name), state="ready", schedule_hours=0
        )
        listing.objects.filter(source_name=name).update(source=row)
    listing.objects.update(key=models.F("slug"))


def name_sources(apps: Any, schema_editor: object) -> None:
    """The way back: each listing says the name of its source itself."""
    source, listing = (
        apps.get_model("marketplace", "Source"),
        apps.get_model("marketplace", "Listing"),
    )
    for pk, slug in source.objects.values_list("pk", "slug"):
        listing.objects.filter(source_id=pk).update(source_name=slug)
    listing.objects.filter(source_name=None).update(source_name="import")


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("marketplace", "0002_installation"),
    ]

    operations = [
        migrations.CreateModel(
            name="Source",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "slug",
                    models.CharField(
                        max_length=48,
                        unique=True,
                        validators=[django.core.validators.RegexValidator("^[a-z0-9][a-z0-9_-]*$")],
                    ),
                ),
                ("title", models.CharField(max_length=200)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("starter", "Comes with Pegboard"),
                            ("registry", "MCP registry"),
                            ("docker", "Docker catalogue"),
                            ("skills", "Folder of skills"),
                            ("plugins", "Plugin marketplace"),
                            ("mcp_json", "Client configuration (mcpServers)"),
                            ("import", "Loaded by a command"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "location",
                    models.CharField(
                        blank=True,
                        help_text="An https address, or a path on this machine.",
                        max_length=500,
                    ),
                ),
                ("enabled", models.BooleanField(default=True)),
                (
                    "schedule_hours",
                    models.PositiveSmallIntegerField(
                        default=24,
                        help_text="0: only by hand.",
                        validators=[django.core.validators.MaxValueValidator(8760)],
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("new", "never read"),
                            ("queued", "waits for a worker"),
                            ("refreshing", "is being read"),
                            ("ready", "Ready"),
                            ("failed", "Failed"),
                        ],
                        default="new",
                        max_length=10,
                    ),
                ),
                (
                    "run",
                    models.PositiveIntegerField(
                        default=0, help_text="How often it was begun to be read."
                    ),
                ),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("done", models.PositiveIntegerField(default=0)),
                ("total", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "reason",
                    models.CharField(
                        blank=True, help_text="Why it failed, for machines.", max_length=32
                    ),
                ),
                ("message", models.TextField(blank=True, help_text="How it stands, in words.")),
                (
                    "report",
                    models.JSONField(
                        blank=True, default=dict, help_text="What the last reading found."
                    ),
                ),
                ("etag", models.CharField(blank=True, max_length=200)),
                ("last_modified", models.CharField(blank=True, max_length=80)),
                ("tried_at", models.DateTimeField(blank=True, null=True)),
                ("refreshed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "sent_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"ordering": ["title", "pk"]},
        ),
        migrations.RenameField("listing", "source", "source_name"),
        migrations.AddField(
            "listing",
            "source",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="listings",
                to="marketplace.source",
            ),
        ),
        migrations.AddField(
            "listing",
            "key",
            models.CharField(default="", help_text="What the source calls it.", max_length=300),
            preserve_default=False,
        ),
        # Without a name for a moment, on the way back: there the name comes after the column.
        migrations.AlterField("listing", "source_name", models.CharField(max_length=60, null=True)),
        migrations.RunSQL(migrations.RunSQL.noop, "SET CONSTRAINTS ALL IMMEDIATE"),
        migrations.RunPython(make_sources, name_sources),
        # The rows that were just written have triggers waiting, which a change of the table would meet.
        migrations.RunSQL("SET CONSTRAINTS ALL IMMEDIATE", migrations.RunSQL.noop),
        migrations.RemoveField("listing", "source_name"),
        migrations.AlterField("listing", "kind", models.CharField(db_index=True, max_length=12)),
        migrations.AlterField(
            "listing", "publisher", models.CharField(blank=True, db_index=True, max_length=200)
        ),
        migrations.AddField("listing", "repository", models.CharField(blank=True, max_length=500)),
        migrations.AddField(
            "listing", "category", models.CharField(blank=True, db_index=True, max_length=60)
        ),
        migrations.AddField(
            "listing",
            "tags",
            django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=60), blank=True, default=list, size=None
            ),
        ),
        migrations.AddField(
            "listing",
            "readme",
            models.TextField(blank=True, help_text="Markdown, as the source gives it."),
        ),
        migrations.AddField(
            "listing",
            "tools",
            models.JSONField(
                blank=True,
                default=list,
                help_text="Known beforehand: name, title, description of each.",
            ),
        ),
        migrations.AddField(
            "listing",
            "needs",
            models.JSONField(
                blank=True, default=dict, help_text="Variables, program and hosts that it needs."
            ),
        ),
        migrations.AddField(
            "listing",
            "run",
            models.PositiveIntegerField(default=0, help_text="The reading that last saw it."),
        ),
        migrations.AddField(
            "listing",
            "vanished_at",
            models.DateTimeField(
                blank=True, help_text="Since when its source no longer offers it.", null=True
            ),
        ),
        migrations.AddField("listing", "published_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField(
            "listing",
            "created_at",
            models.DateTimeField(auto_now_add=True, default=django.utils.timezone.now),
            preserve_default=False,
        ),
        migrations.AddConstraint(
            "listing",
            models.UniqueConstraint(fields=("source", "key"), name="one_listing_of_a_key"),
        ),
        migrations.CreateModel(
            name="ListingVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("version", models.CharField(blank=True, max_length=80)),
                (
                    "descriptor",
                    models.JSONField(help_text="The fields of an IntegrationDescriptor."),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("active", "Active"),
                            ("deprecated", "Deprecated"),
                            ("deleted", "Deleted"),
                        ],
                        default="active",
                        max_length=10,
                    ),
                ),
                ("is_latest", models.BooleanField(default=False)),
                ("published_at", models.DateTimeField(blank=True, null=True)),
                (
                    "listing",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="versions",
                        to="marketplace.listing",
                    ),
                ),
            ],
            options={
                "ordering": ["-is_latest", "-published_at", "-pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("listing", "version"), name="one_row_of_a_version"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ListingFile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("path", models.CharField(help_text="Within the folder, with /.", max_length=300)),
                ("content", models.BinaryField()),
                (
                    "listing",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="files",
                        to="marketplace.listing",
                    ),
                ),
            ],
            options={
                "ordering": ["path", "pk"],
                "constraints": [
                    models.UniqueConstraint(fields=("listing", "path"), name="one_file_of_a_path")
                ],
            },
        ),
    ]
