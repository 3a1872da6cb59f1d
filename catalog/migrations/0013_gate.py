"""Definitions of every origin, and a net below the gate.

`reviewed` holds a digest of the texts that passed the gate. A capability whose texts are changed in
another way (by hand at psql, by a bulk update) is quarantined by the database, and stays so until
its texts have passed.
"""

from django.db import migrations, models

TEXTS = (
    "full_name", "action", "display_name", "description", "category", "tags", "input_schema",
    "output_schema", "content", "examples", "annotations", "required_secrets", "required_tools",
    "declared_edges",
)  # fmt: skip
NET = f"""
CREATE FUNCTION catalog_texts_digest(c catalog_capability) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT encode(sha256(convert_to(jsonb_build_array({", ".join(f"c.{one}" for one in TEXTS)})::text, 'UTF8')), 'hex')
$$;
CREATE FUNCTION catalog_keep_reviewed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed boolean;
BEGIN
  IF TG_OP = 'INSERT' THEN
    NEW.reviewed := catalog_texts_digest(NEW);
    RETURN NEW;
  END IF;
  changed := ROW({", ".join(f"NEW.{one}" for one in TEXTS)})
             IS DISTINCT FROM ROW({", ".join(f"OLD.{one}" for one in TEXTS)});
  IF current_setting('pegboard.gate', true) = 'open' THEN
    NEW.reviewed := catalog_texts_digest(NEW);
    RETURN NEW;
  END IF;
  NEW.reviewed := OLD.reviewed;
  IF NEW.state = 'approved' AND (changed OR OLD.state <> 'approved')
     AND catalog_texts_digest(NEW) <> NEW.reviewed THEN
    NEW.state := 'quarantined';
  END IF;
  RETURN NEW;
END $$;
UPDATE catalog_capability c SET reviewed = catalog_texts_digest(c);
CREATE TRIGGER catalog_capability_reviewed BEFORE INSERT OR UPDATE ON catalog_capability
  FOR EACH ROW EXECUTE FUNCTION catalog_keep_reviewed();
"""
NO_NET = """
DROP TRIGGER catalog_capability_reviewed ON catalog_capability;
DROP FUNCTION catalog_keep_reviewed();
DROP FUNCTION catalog_texts_digest(catalog_capability);
"""


class Migration(migrations.Migration):
    dependencies = [("catalog", "0012_revocations")]

    operations = [
        migrations.AddField(
            model_name="capability",
            name="reviewed",
            field=models.CharField(blank=True, default="", editable=False, help_text="Digest of the texts that passed the gate; set by the database.", max_length=64),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="definition",
            name="origin",
            field=models.CharField(choices=[("server", "its server"), ("import", "an import"), ("manifest", "a watched folder"), ("starter", "the starter collection"), ("listing", "a listing of the marketplace"), ("runtime", "the API"), ("edit", "an admin's edit")], default="server", max_length=8),
        ),
        migrations.AddField(
            model_name="definition",
            name="source",
            field=models.CharField(blank=True, default="", help_text="The file it was read from.", max_length=500),
            preserve_default=False,
        ),
        migrations.AlterField(
            model_name="definition",
            name="name",
            field=models.CharField(blank=True, help_text="As its server wants to hear it; empty for itself.", max_length=200),
        ),
        migrations.AddField(
            model_name="integration",
            name="came_from",
            field=models.CharField(blank=True, default="", help_text="The source that declared it first; another one cannot change it.", max_length=500),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="integration",
            name="unconfirmed",
            field=models.BooleanField(default=False, help_text="Imported: nothing is sent to it or started before an admin confirms it."),
        ),
        migrations.RunSQL(NET, NO_NET),
    ]
