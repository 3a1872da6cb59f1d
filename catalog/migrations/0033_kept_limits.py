"""Limits that outlive what they name, and their return with a row of that name."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

RETURN = """
CREATE FUNCTION catalog_return_limits() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_TABLE_NAME = 'catalog_integration' THEN
    INSERT INTO catalog_rule (space_id, effect, user_id, group_id, created_at, integration_id)
      SELECT k.space_id, k.effect, k.user_id, k.group_id, k.created_at, NEW.id
      FROM catalog_keptlimit k
      WHERE k.integration = NEW.slug AND k.action = '' AND k.space_id IS NOT NULL;
    UPDATE catalog_integration SET restricted = true WHERE id = NEW.id AND EXISTS (
      SELECT FROM catalog_keptlimit k
      WHERE k.integration = NEW.slug AND k.action = '' AND k.space_id IS NULL);
    DELETE FROM catalog_keptlimit k WHERE k.integration = NEW.slug AND k.action = '';
    RETURN NULL;
  END IF;
  IF NOT EXISTS (SELECT FROM catalog_keptlimit k WHERE k.full_name = NEW.full_name) THEN
    RETURN NULL;
  END IF;
  INSERT INTO catalog_rule (space_id, effect, user_id, group_id, created_at, capability_id)
    SELECT k.space_id, k.effect, k.user_id, k.group_id, k.created_at, NEW.id
    FROM catalog_keptlimit k WHERE k.full_name = NEW.full_name AND k.space_id IS NOT NULL;
  UPDATE catalog_capability c SET ai_access = CASE WHEN k.effect = 0 THEN 'blocked' ELSE 'propose' END
    FROM (SELECT min(effect) AS effect FROM catalog_keptlimit
          WHERE full_name = NEW.full_name AND space_id IS NULL) k
    WHERE c.id = NEW.id AND k.effect IS NOT NULL
      AND (c.ai_access = 'execute' OR (c.ai_access = 'propose' AND k.effect = 0));
  DELETE FROM catalog_keptlimit k WHERE k.full_name = NEW.full_name;
  RETURN NULL;
END $$;
CREATE TRIGGER catalog_capability_limits AFTER INSERT ON catalog_capability
  FOR EACH ROW EXECUTE FUNCTION catalog_return_limits();
CREATE TRIGGER catalog_integration_limits AFTER INSERT ON catalog_integration
  FOR EACH ROW EXECUTE FUNCTION catalog_return_limits();
"""
NO_RETURN = """
DROP TRIGGER catalog_integration_limits ON catalog_integration;
DROP TRIGGER catalog_capability_limits ON catalog_capability;
DROP FUNCTION catalog_return_limits();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("acl", "0019_replica_beat"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("catalog", "0032_argument_lookups"),
    ]

    operations = [
        migrations.CreateModel(
            name="KeptLimit",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "integration",
                    models.CharField(help_text="The slug of what is gone.", max_length=200),
                ),
                (
                    "action",
                    models.CharField(
                        blank=True, help_text="Empty for the integration.", max_length=200
                    ),
                ),
                ("full_name", models.CharField(blank=True, max_length=64)),
                (
                    "definition",
                    models.TextField(
                        blank=True, help_text="The tool's texts, to know it again by."
                    ),
                ),
                ("effect", models.SmallIntegerField(choices=[(0, "deny"), (1, "propose")])),
                ("created_at", models.DateTimeField(help_text="When the rule was made.")),
                ("kept_at", models.DateTimeField(auto_now_add=True)),
                (
                    "group",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="auth.group",
                    ),
                ),
                (
                    "space",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="acl.space",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["integration", "action", "pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=["integration", "action", "effect", "space", "user", "group"],
                        name="catalog_kept_limit_once",
                        nulls_distinct=False,
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("user__isnull", True), ("group__isnull", True), _connector="OR"
                        ),
                        name="catalog_kept_limit_one_subject",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("effect__in", [0, 1])),
                        name="catalog_kept_limit_effect",
                    ),
                ],
            },
        ),
        migrations.RunSQL(RETURN, NO_RETURN),
    ]
