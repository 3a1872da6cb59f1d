"""Limits of calls a minute that outlive an integration."""

from django.db import migrations, models

RETURN = """
CREATE OR REPLACE FUNCTION catalog_return_limits() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_TABLE_NAME = 'catalog_integration' THEN
    INSERT INTO catalog_rule (space_id, effect, user_id, group_id, created_at, integration_id)
      SELECT k.space_id, k.effect, k.user_id, k.group_id, k.created_at, NEW.id
      FROM catalog_keptlimit k
      WHERE k.integration = NEW.slug AND k.action = '' AND k.kind = '' AND k.space_id IS NOT NULL;
    UPDATE catalog_integration SET restricted = true WHERE id = NEW.id AND EXISTS (
      SELECT FROM catalog_keptlimit k
      WHERE k.integration = NEW.slug AND k.action = '' AND k.kind = '' AND k.space_id IS NULL);
    PERFORM catalog_note_return(k) FROM catalog_keptlimit k
      WHERE k.integration = NEW.slug AND k.action = '' AND k.kind = '';
    DELETE FROM catalog_keptlimit k WHERE k.integration = NEW.slug AND k.action = '' AND k.kind = '';
    RETURN NULL;
  END IF;
  IF NOT EXISTS (SELECT FROM catalog_keptlimit k
                 WHERE k.full_name = NEW.full_name AND k.kind = '') THEN
    RETURN NULL;
  END IF;
  INSERT INTO catalog_rule (space_id, effect, user_id, group_id, created_at, capability_id)
    SELECT k.space_id, k.effect, k.user_id, k.group_id, k.created_at, NEW.id
    FROM catalog_keptlimit k
    WHERE k.full_name = NEW.full_name AND k.kind = '' AND k.space_id IS NOT NULL;
  UPDATE catalog_capability c SET ai_access = CASE WHEN k.effect = 0 THEN 'blocked' ELSE 'propose' END
    FROM (SELECT min(effect) AS effect FROM catalog_keptlimit
          WHERE full_name = NEW.full_name AND kind = '' AND space_id IS NULL) k
    WHERE c.id = NEW.id AND k.effect IS NOT NULL
      AND (c.ai_access = 'execute' OR (c.ai_access = 'propose' AND k.effect = 0));
  PERFORM catalog_note_return(k) FROM catalog_keptlimit k
    WHERE k.full_name = NEW.full_name AND k.kind = '';
  DELETE FROM catalog_keptlimit k WHERE k.full_name = NEW.full_name AND k.kind = '';
  RETURN NULL;
END $$;
"""
RETURN_BEFORE = """
CREATE OR REPLACE FUNCTION catalog_return_limits() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_TABLE_NAME = 'catalog_integration' THEN
    INSERT INTO catalog_rule (space_id, effect, user_id, group_id, created_at, integration_id)
      SELECT k.space_id, k.effect, k.user_id, k.group_id, k.created_at, NEW.id
      FROM catalog_keptlimit k
      WHERE k.integration = NEW.slug AND k.action = '' AND k.space_id IS NOT NULL;
    UPDATE catalog_integration SET restricted = true WHERE id = NEW.id AND EXISTS (
      SELECT FROM catalog_keptlimit k
      WHERE k.integration = NEW.slug AND k.action = '' AND k.space_id IS NULL);
    PERFORM catalog_note_return(k) FROM catalog_keptlimit k
      WHERE k.integration = NEW.slug AND k.action = '';
    DELETE FROM catalog_keptlimit k WHERE k.integration = NEW.slug AND k.action = '';
    RETURN NULL;
  END IF;
  IF NOT EXISTS (SELECT FROM catalog_keptlimit k
                 WHERE k.full_name = NEW.full_name AND k.kind = '') THEN
    RETURN NULL;
  END IF;
  INSERT INTO catalog_rule (space_id, effect, user_id, group_id, created_at, capability_id)
    SELECT k.space_id, k.effect, k.user_id, k.group_id, k.created_at, NEW.id
    FROM catalog_keptlimit k
    WHERE k.full_name = NEW.full_name AND k.kind = '' AND k.space_id IS NOT NULL;
  UPDATE catalog_capability c SET ai_access = CASE WHEN k.effect = 0 THEN 'blocked' ELSE 'propose' END
    FROM (SELECT min(effect) AS effect FROM catalog_keptlimit
          WHERE full_name = NEW.full_name AND kind = '' AND space_id IS NULL) k
    WHERE c.id = NEW.id AND k.effect IS NOT NULL
      AND (c.ai_access = 'execute' OR (c.ai_access = 'propose' AND k.effect = 0));
  PERFORM catalog_note_return(k) FROM catalog_keptlimit k
    WHERE k.full_name = NEW.full_name AND k.kind = '';
  DELETE FROM catalog_keptlimit k WHERE k.full_name = NEW.full_name AND k.kind = '';
  RETURN NULL;
END $$;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('catalog', '0047_app_only'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='keptlimit',
            name='catalog_kept_limit_effect',
        ),
        migrations.AlterField(
            model_name='keptlimit',
            name='effect',
            field=models.SmallIntegerField(choices=[(0, 'deny'), (1, 'propose')], help_text='Of a rule; other limits have none.', null=True),
        ),
        migrations.AlterField(
            model_name='keptlimit',
            name='kind',
            field=models.CharField(blank=True, choices=[('quotas', 'quota'), ('flow_rules', 'flow rule'), ('call_limits', 'limit of calls')], db_default='', default='', help_text="Empty for a rule and for a tool's or integration's own setting.", max_length=12),
        ),
        migrations.AlterField(
            model_name='keptlimit',
            name='terms',
            field=models.JSONField(db_default={}, default=dict, help_text='The other columns of a limit that is no rule.'),
        ),
        migrations.AddConstraint(
            model_name='keptlimit',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('effect__in', [0, 1]), ('effect__isnull', False), ('kind', '')), models.Q(('effect__isnull', True), ('kind__in', ['quotas', 'flow_rules', 'call_limits'])), _connector='OR'), name='catalog_kept_limit_effect'),
        ),
        migrations.RunSQL(RETURN, RETURN_BEFORE),
    ]
