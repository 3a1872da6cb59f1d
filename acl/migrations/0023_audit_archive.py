"""Archives of the audit log's beginning, whose entries may leave the database."""

from django.db import migrations, models

from acl.models import AuditArchive

# What was refused stays refused, but for the deletion of entries that an archive has. The role of the
# application may still delete nothing.
REFUSED = """
CREATE OR REPLACE FUNCTION acl_audit_refused() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF pg_trigger_depth() > 1 AND TG_TABLE_NAME = 'acl_audithead' AND TG_OP IN ('INSERT', 'UPDATE') THEN
    RETURN NEW;
  ELSIF pg_trigger_depth() > 1 AND TG_TABLE_NAME = 'acl_auditentry' AND TG_OP = 'UPDATE' THEN
    IF OLD.number IS NULL THEN
      RETURN NEW;
    END IF;
  {also}END IF;
  RAISE EXCEPTION 'the audit log is append-only: % on % is refused', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'insufficient_privilege';
END
$$;
"""
ARCHIVED = """ELSIF TG_TABLE_NAME = 'acl_auditentry' AND TG_OP = 'DELETE' THEN
    IF OLD.number <= (SELECT max(number) FROM public.acl_auditarchive) THEN
      RETURN OLD;
    END IF;
  """
FITS = """
CREATE FUNCTION acl_audit_archive_fits() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' AND NEW.digest = (
      SELECT digest FROM public.acl_auditentry WHERE number = NEW.number) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'the audit log has no such end of an archive: % on % is refused', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'insufficient_privilege';
END
$$;
"""


class Migration(migrations.Migration):

    dependencies = [("acl", "0022_rights_periods")]

    operations = [
        migrations.CreateModel(
            name="AuditArchive",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.BigIntegerField(help_text="Of its last entry.", unique=True)),
                ("digest", models.CharField(help_text="Of its last entry.", max_length=64)),
                ("file", models.CharField(help_text="The name that it was written to.", max_length=200)),
                ("checksum", models.CharField(help_text="SHA-256 of the file.", max_length=64)),
                ("at", models.DateTimeField(auto_now_add=True)),
            ],
            options={"default_permissions": (), "ordering": ["-number"]},
        ),
        migrations.RunSQL(FITS, "DROP FUNCTION acl_audit_archive_fits();"),
        migrations.RunSQL(REFUSED.replace("{also}", ARCHIVED), REFUSED.replace("{also}", "")),
        *(
            migrations.RunSQL(
                trigger._replace(table="acl_auditarchive").create_sql(),
                trigger._replace(table="acl_auditarchive").drop_sql(),
            )
            for trigger in AuditArchive.triggers
        ),
    ]
