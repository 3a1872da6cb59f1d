"""Former names of a quota's tool, and the return of quotas and flow rules with a tool."""

import django.contrib.postgres.fields
from django.db import migrations, models

RETURN = """
CREATE FUNCTION discovery_return_limits() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM catalog_keptlimit k
                 WHERE k.full_name = NEW.full_name AND k.kind <> '') THEN
    RETURN NULL;
  END IF;
  INSERT INTO discovery_quota (user_id, group_id, capability_id, each_person, measure, soft, hard,
                               former_names, created_at)
    SELECT k.user_id, k.group_id, NEW.id, (k.terms ->> 'each_person')::boolean,
      k.terms ->> 'measure', (k.terms ->> 'soft')::bigint, (k.terms ->> 'hard')::bigint,
      ARRAY(SELECT jsonb_array_elements_text(k.terms -> 'former_names')), k.created_at
    FROM catalog_keptlimit k WHERE k.full_name = NEW.full_name AND k.kind = 'quotas'
    ON CONFLICT DO NOTHING;
  INSERT INTO discovery_flowrule (capability_id, space_id, group_id, mode, created_at)
    SELECT NEW.id, k.space_id, k.group_id, k.terms ->> 'mode', k.created_at
    FROM catalog_keptlimit k WHERE k.full_name = NEW.full_name AND k.kind = 'flow_rules'
    ON CONFLICT DO NOTHING;
  PERFORM catalog_note_return(k) FROM catalog_keptlimit k
    WHERE k.full_name = NEW.full_name AND k.kind <> '';
  DELETE FROM catalog_keptlimit k WHERE k.full_name = NEW.full_name AND k.kind <> '';
  RETURN NULL;
END $$;
CREATE TRIGGER discovery_capability_limits AFTER INSERT ON catalog_capability
  FOR EACH ROW EXECUTE FUNCTION discovery_return_limits();
"""
NO_RETURN = """
DROP TRIGGER discovery_capability_limits ON catalog_capability;
DROP FUNCTION discovery_return_limits();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('catalog', '0035_kept_policies'),
        ('discovery', '0001_squashed_0020_chats'),
    ]

    operations = [
        migrations.AddField(
            model_name='quota',
            name='former_names',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=64), blank=True, db_default=[], default=list, editable=False, help_text='Full names that the tool had before: its calls under these count, too.', size=None),
        ),
        migrations.RunSQL(RETURN, NO_RETURN),
    ]
