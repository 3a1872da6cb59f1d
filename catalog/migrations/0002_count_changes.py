"""The database counts the changes of the catalogue, whoever makes them: services, the admin, a hand at psql.

The number changes in the transaction of the change, so a reader sees both or neither.
"""

from django.db import migrations

COUNT = """
CREATE FUNCTION catalog_count_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO catalog_catalogversion (id, number) VALUES (1, 1)
  ON CONFLICT (id) DO UPDATE SET number = catalog_catalogversion.number + 1;
  RETURN NULL;
END $$;
CREATE TRIGGER catalog_capability_changed AFTER INSERT OR UPDATE OR DELETE ON catalog_capability
  FOR EACH STATEMENT EXECUTE FUNCTION catalog_count_change();
CREATE TRIGGER catalog_integration_changed AFTER UPDATE OF slug, title ON catalog_integration
  FOR EACH STATEMENT EXECUTE FUNCTION catalog_count_change();
"""
STOP = """
DROP TRIGGER catalog_integration_changed ON catalog_integration;
DROP TRIGGER catalog_capability_changed ON catalog_capability;
DROP FUNCTION catalog_count_change();
"""


class Migration(migrations.Migration):
    dependencies = [("catalog", "0001_initial")]

    operations = [migrations.RunSQL(COUNT, STOP)]
