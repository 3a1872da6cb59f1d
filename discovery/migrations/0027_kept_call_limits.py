"""The return of a limit of calls a minute with its integration."""

from django.db import migrations

RETURN = """
CREATE FUNCTION discovery_return_call_limit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO discovery_calllimit (integration_id, a_minute)
    SELECT NEW.id, (k.terms ->> 'a_minute')::integer
    FROM catalog_keptlimit k WHERE k.integration = NEW.slug AND k.kind = 'call_limits'
    ON CONFLICT DO NOTHING;
  PERFORM catalog_note_return(k) FROM catalog_keptlimit k
    WHERE k.integration = NEW.slug AND k.kind = 'call_limits';
  DELETE FROM catalog_keptlimit k WHERE k.integration = NEW.slug AND k.kind = 'call_limits';
  RETURN NULL;
END $$;
CREATE TRIGGER discovery_integration_limits AFTER INSERT ON catalog_integration
  FOR EACH ROW EXECUTE FUNCTION discovery_return_call_limit();
"""
NO_RETURN = """
DROP TRIGGER discovery_integration_limits ON catalog_integration;
DROP FUNCTION discovery_return_call_limit();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('catalog', '0048_kept_call_limits'),
        ('discovery', '0026_chat_apis'),
    ]

    operations = [
        migrations.RunSQL(RETURN, NO_RETURN),
    ]
