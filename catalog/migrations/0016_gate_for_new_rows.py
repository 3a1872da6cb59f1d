"""New rows pass the gate, too: one that is inserted without its mark waits for a review.

The mark is a net against forgetting, in our own code or at psql. It is no boundary: whoever can run
any SQL as the application can set it.
"""

from django.db import migrations

TEXTS = (
    "full_name", "action", "display_name", "description", "category", "tags", "input_schema",
    "output_schema", "content", "examples", "annotations", "required_secrets", "required_tools",
    "declared_edges",
)  # fmt: skip
FUNCTION = f"""
CREATE OR REPLACE FUNCTION catalog_keep_reviewed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed boolean;
BEGIN
  IF current_setting('pegboard.gate', true) = 'open' THEN
    NEW.reviewed := catalog_texts_digest(NEW);
    RETURN NEW;
  END IF;
  IF TG_OP = 'INSERT' THEN
    %s
    RETURN NEW;
  END IF;
  changed := ROW({", ".join(f"NEW.{one}" for one in TEXTS)})
             IS DISTINCT FROM ROW({", ".join(f"OLD.{one}" for one in TEXTS)});
  NEW.reviewed := OLD.reviewed;
  IF NEW.state = 'approved' AND (changed OR OLD.state <> 'approved')
     AND catalog_texts_digest(NEW) <> NEW.reviewed THEN
    NEW.state := 'quarantined';
  END IF;
  RETURN NEW;
END $$;
"""
# Without a digest no later change of the state approves the row either.
WAITS = """NEW.reviewed := '';
    IF NEW.state = 'approved' THEN NEW.state := 'quarantined'; END IF;"""
COUNTS_AS_REVIEWED = "NEW.reviewed := catalog_texts_digest(NEW);"


class Migration(migrations.Migration):
    dependencies = [("catalog", "0015_scopes")]

    operations = [migrations.RunSQL(FUNCTION % WAITS, FUNCTION % COUNTS_AS_REVIEWED)]
