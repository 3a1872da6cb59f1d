"""Quotas and flow rules that outlive a tool, and an audit entry for each limit that returns."""

from django.conf import settings
from django.db import migrations, models

RETURN = """
CREATE FUNCTION catalog_note_return(kept catalog_keptlimit) RETURNS void LANGUAGE sql AS $$
  INSERT INTO acl_auditentry (at, by_name, actor_kind, action, target, details, request_id,
                              key_prefix, address)
  SELECT clock_timestamp(), '', 'system', 'rule.return', left(
      word.of || ' ' || about.target || coalesce(' in ' || place.name, ''), 200),
    jsonb_build_object('effect', word.of, 'target', about.target, 'space', coalesce(place.name, ''),
      'subject', coalesce(u.username, g.name, 'everyone')) || kept.terms, '', '', ''
  FROM (SELECT CASE WHEN kept.kind <> '' THEN kept.kind WHEN kept.effect = 0 THEN 'deny'
               ELSE 'propose' END AS of) word
  CROSS JOIN (SELECT CASE WHEN kept.action <> '' THEN kept.full_name
                     ELSE kept.integration END AS target) about
  LEFT JOIN LATERAL (SELECT sg.name || '/' || s.slug AS name FROM acl_space s
    JOIN auth_group sg ON sg.id = s.group_id WHERE s.id = kept.space_id) place ON true
  LEFT JOIN auth_user u ON u.id = kept.user_id
  LEFT JOIN auth_group g ON g.id = kept.group_id
$$;
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
NO_RETURN = """
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
DROP FUNCTION catalog_note_return(catalog_keptlimit);
"""


class Migration(migrations.Migration):

    dependencies = [
        ('acl', '0020_invitation_made_with'),
        ('auth', '0012_alter_user_first_name_max_length'),
        ('catalog', '0034_list_defects'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='keptlimit',
            name='catalog_kept_limit_once',
        ),
        migrations.RemoveConstraint(
            model_name='keptlimit',
            name='catalog_kept_limit_one_subject',
        ),
        migrations.RemoveConstraint(
            model_name='keptlimit',
            name='catalog_kept_limit_effect',
        ),
        migrations.AddField(
            model_name='keptlimit',
            name='kind',
            field=models.CharField(blank=True, choices=[('quotas', 'quota'), ('flow_rules', 'flow rule')], db_default='', default='', help_text="Empty for a rule and for a tool's or integration's own setting.", max_length=12),
        ),
        migrations.AddField(
            model_name='keptlimit',
            name='terms',
            field=models.JSONField(db_default={}, default=dict, help_text='The other columns of a quota or a flow rule.'),
        ),
        migrations.AlterField(
            model_name='keptlimit',
            name='effect',
            field=models.SmallIntegerField(choices=[(0, 'deny'), (1, 'propose')], help_text='Of a rule; a quota and a flow rule have none.', null=True),
        ),
        migrations.AddConstraint(
            model_name='keptlimit',
            constraint=models.UniqueConstraint(fields=('integration', 'action', 'effect', 'space', 'user', 'group', 'kind', 'terms'), name='catalog_kept_limit_once', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='keptlimit',
            constraint=models.CheckConstraint(condition=models.Q(('user__isnull', True), ('group__isnull', True), models.Q(('kind', ''), _negated=True), _connector='OR'), name='catalog_kept_limit_one_subject'),
        ),
        migrations.AddConstraint(
            model_name='keptlimit',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('effect__in', [0, 1]), ('effect__isnull', False), ('kind', '')), models.Q(('effect__isnull', True), ('kind__in', ['quotas', 'flow_rules'])), _connector='OR'), name='catalog_kept_limit_effect'),
        ),
        migrations.RunSQL(RETURN, NO_RETURN),
    ]
