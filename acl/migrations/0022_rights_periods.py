"""Periods of what rights depend on, kept by the database (`acl/rights/past.py`)."""

from django.db import migrations, models

import acl.platform.stored_json
from acl.models.rights_change import RightsPeriod

# One function for all tables: its arguments are the columns to keep. The owner runs it, since the
# application may not write periods. By the clock, since a transaction may change a row twice.
KEEP = """
CREATE FUNCTION acl_keep_periods() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  moment timestamptz := clock_timestamp();
  facts text;
  gone bigint[];
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    UPDATE acl_rightsperiod p SET ended = greatest(moment, p.began)
    WHERE p."table" = TG_TABLE_NAME AND p.ended IS NULL;
    RETURN NULL;
  ELSIF TG_OP = 'DELETE' THEN
    gone := ARRAY(SELECT id FROM old_rows);
  ELSIF TG_OP = 'UPDATE' THEN
    gone := ARRAY[OLD.id];
  END IF;
  UPDATE acl_rightsperiod p SET ended = greatest(moment, p.began)
  WHERE p."table" = TG_TABLE_NAME AND p.key = ANY (gone) AND p.ended IS NULL;
  IF TG_OP <> 'DELETE' THEN
    SELECT string_agg(format('%L, r.%I', name, name), ', ') INTO facts FROM unnest(TG_ARGV) name;
    facts := format(
      'INSERT INTO acl_rightsperiod ("table", key, facts, began)'
      ' SELECT %L, r.id, jsonb_build_object(%s), $1 FROM %s r', TG_TABLE_NAME, facts,
      CASE TG_OP WHEN 'INSERT' THEN 'new_rows' ELSE '(SELECT ($2).*)' END);
    IF TG_OP = 'INSERT' THEN
      EXECUTE facts USING moment;
    ELSE
      EXECUTE facts USING moment, NEW;
    END IF;
  END IF;
  RETURN NULL;
END $$;
"""
NO_KEEP = "DROP FUNCTION acl_keep_periods();"
# What retention and the removal of a person may do with them; nothing else may.
FORGET = """
CREATE FUNCTION acl_forget_periods(before timestamptz, most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  number integer;
BEGIN
  UPDATE acl_rightsperiod SET began = before WHERE "table" = '' AND began < before;
  DELETE FROM acl_rightsperiod WHERE id = ANY (ARRAY(
    SELECT id FROM acl_rightsperiod WHERE ended <= before ORDER BY ended LIMIT most));
  GET DIAGNOSTICS number = ROW_COUNT;
  RETURN number;
END $$;
CREATE FUNCTION acl_forget_name(person bigint, instead text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
  UPDATE acl_rightsperiod SET facts = facts || jsonb_build_object('username', instead)
  WHERE "table" = 'auth_user' AND key = person;
$$;
"""
NO_FORGET = "DROP FUNCTION acl_forget_periods(timestamptz, integer); DROP FUNCTION acl_forget_name(bigint, text);"


class Migration(migrations.Migration):

    dependencies = [
        ("acl", "0021_rights_version"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.CreateModel(
            name="RightsPeriod",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("table", models.CharField(max_length=63)),
                ("key", models.BigIntegerField(help_text="Of the row.")),
                ("facts", acl.platform.stored_json.StoredJSONField(help_text="The columns that rights read, and names.")),
                ("began", models.DateTimeField()),
                ("ended", models.DateTimeField(null=True)),
            ],
            options={
                "default_permissions": (),
                "indexes": [
                    models.Index(fields=["table", "began"], name="acl_periods_of_table"),
                    models.Index(condition=models.Q(("ended", None)), fields=["table", "key"], name="acl_periods_open"),
                    models.Index(fields=["ended"], name="acl_periods_over"),
                ],
            },
        ),
        migrations.RunSQL(KEEP, NO_KEEP),
        migrations.RunSQL(FORGET, NO_FORGET),
        *(
            migrations.RunSQL(trigger.create_sql(), trigger.drop_sql())
            for trigger in RightsPeriod.triggers
        ),
    ]
