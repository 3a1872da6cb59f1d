"""Changes of what rights depend on, counted by the database (`acl/rights/version.py`)."""

from django.db import migrations, models

from acl.models.rights_change import RightsChange

# A row for each subject that the changed rows name, before and after the change.
COUNT = """
CREATE FUNCTION acl_count_rows() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed text := CASE TG_OP
    WHEN 'INSERT' THEN 'new_rows'
    WHEN 'DELETE' THEN 'old_rows'
    ELSE '(SELECT * FROM old_rows UNION ALL SELECT * FROM new_rows)' END;
BEGIN
  EXECUTE format(
    'INSERT INTO acl_rightschange (subject, key, number)
     SELECT %s, key, hashtextextended(gen_random_uuid()::text, 0)
     FROM (SELECT DISTINCT %s AS key FROM %s r) about WHERE key IS NOT NULL',
    TG_ARGV[0], TG_ARGV[1], changed);
  RETURN NULL;
END $$;
CREATE FUNCTION acl_count_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO acl_rightschange (subject, key, number)
  VALUES (TG_ARGV[0]::int, 0, hashtextextended(gen_random_uuid()::text, 0));
  RETURN NULL;
END $$;
"""
NO_COUNT = "DROP FUNCTION acl_count_rows(); DROP FUNCTION acl_count_change();"


class Migration(migrations.Migration):

    dependencies = [
        ("acl", "0020_invitation_made_with"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [
        migrations.CreateModel(
            name="RightsChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("subject", models.SmallIntegerField(choices=[(0, "Everyone"), (1, "Person"), (2, "Group"), (3, "Readiness")])),
                ("key", models.BigIntegerField(default=0)),
                ("number", models.BigIntegerField(help_text="At random.")),
            ],
            options={
                "indexes": [models.Index(fields=["subject", "key"], include=("number",), name="acl_rights_changes")],
            },
        ),
        migrations.RunSQL(COUNT, NO_COUNT),
        *(
            migrations.RunSQL(trigger.create_sql(), trigger.drop_sql())
            for trigger in RightsChange.triggers
        ),
    ]
