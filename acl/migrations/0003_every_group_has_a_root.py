"""The database gives each group a policy and a root space, and another if that is removed, whoever
does it: the admin, a command, a login, a hand at psql.

At the end of the transaction, so that whoever makes a group with a root of its own may.
"""

from django.db import migrations

PROVIDE = """
CREATE FUNCTION acl_provide_for_group(wanted integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO acl_grouppolicy (group_id, open_default)
  SELECT id, false FROM auth_group WHERE id = wanted
  ON CONFLICT (group_id) DO NOTHING;
  INSERT INTO acl_space (group_id, parent_id, name, slug)
  SELECT id, NULL, 'Root', CASE WHEN EXISTS (
           SELECT FROM acl_space s WHERE s.group_id = g.id AND s.slug = 'root')
         THEN 'root-' || id ELSE 'root' END
  FROM auth_group g
  WHERE id = wanted AND NOT EXISTS (
    SELECT FROM acl_space s WHERE s.group_id = g.id AND s.parent_id IS NULL)
  ON CONFLICT DO NOTHING;
END $$;
CREATE FUNCTION acl_group_made() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM acl_provide_for_group(NEW.id);
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER acl_group_made AFTER INSERT ON auth_group
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION acl_group_made();
CREATE FUNCTION acl_space_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM acl_provide_for_group(OLD.group_id);
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER acl_space_gone AFTER DELETE OR UPDATE OF group_id, parent_id ON acl_space
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION acl_space_gone();
SELECT acl_provide_for_group(id) FROM auth_group;
"""
STOP = """
DROP TRIGGER acl_space_gone ON acl_space;
DROP FUNCTION acl_space_gone();
DROP TRIGGER acl_group_made ON auth_group;
DROP FUNCTION acl_group_made();
DROP FUNCTION acl_provide_for_group(integer);
"""


class Migration(migrations.Migration):
    dependencies = [("acl", "0002_audit_chain")]

    operations = [migrations.RunSQL(PROVIDE, STOP)]
