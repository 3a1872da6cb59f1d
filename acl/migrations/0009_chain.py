"""Keep the chain of each act in the audit log: actor, credential, subject.

Old entries keep their digest: `version` says which fields an entry's digest covers.
"""

from django.db import migrations, models

DIGEST = """
CREATE OR REPLACE FUNCTION acl_audit_digest(entry acl_auditentry) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT encode(sha256(convert_to(entry.previous || chr(10) || (jsonb_build_array(
    to_char(entry.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    entry.by_id, entry.by_name, entry.action, entry.target, entry.details,
    entry.request_id, entry.key_prefix, entry.address)
    || CASE WHEN entry.version = 1 THEN '[]'::jsonb ELSE jsonb_build_array(
      entry.version, entry.actor_kind, entry.credential, entry.key_id, entry.key_name,
      entry.subject_id, entry.subject_name) END)::text, 'UTF8')), 'hex')
$$;
"""
OLD_DIGEST = """
CREATE OR REPLACE FUNCTION acl_audit_digest(entry acl_auditentry) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT encode(sha256(convert_to(entry.previous || chr(10) || jsonb_build_array(
    to_char(entry.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    entry.by_id, entry.by_name, entry.action, entry.target, entry.details,
    entry.request_id, entry.key_prefix, entry.address)::text, 'UTF8')), 'hex')
$$;
"""
# Nobody chooses the version either: with an older one, part of an entry would be in no digest.
UNPLACED = """
CREATE OR REPLACE FUNCTION acl_audit_unplaced() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.number := NULL;
  NEW.previous := NULL;
  NEW.digest := NULL;
  NEW.version := 2;
  RETURN NEW;
END
$$;
"""
OLD_UNPLACED = """
CREATE OR REPLACE FUNCTION acl_audit_unplaced() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.number := NULL;
  NEW.previous := NULL;
  NEW.digest := NULL;
  RETURN NEW;
END
$$;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('acl', '0008_discover_for_select_keys'),
    ]

    # Defaults of the database, too: a web that still runs the code of before goes on writing.
    operations = [
        migrations.AddField('auditentry', 'version', models.PositiveSmallIntegerField(db_default=1, default=1, editable=False, help_text='Which fields the digest covers.')),
        migrations.AlterField('auditentry', 'version', models.PositiveSmallIntegerField(db_default=2, default=2, editable=False, help_text='Which fields the digest covers.')),
        migrations.AddField('auditentry', 'actor_kind', models.CharField(blank=True, db_default='', default='', max_length=16)),
        migrations.AddField('auditentry', 'credential', models.CharField(blank=True, db_default='', default='', max_length=8)),
        migrations.AddField('auditentry', 'key_id', models.BigIntegerField(blank=True, null=True)),
        migrations.AddField('auditentry', 'key_name', models.CharField(blank=True, db_default='', default='', max_length=120)),
        migrations.AddField('auditentry', 'subject_id', models.BigIntegerField(blank=True, null=True)),
        migrations.AddField('auditentry', 'subject_name', models.CharField(blank=True, db_default='', default='', max_length=150)),
        migrations.AddIndex('auditentry', models.Index(fields=['subject_name', '-id'], condition=~models.Q(subject_name=''), name='acl_audit_subject')),
        migrations.RunSQL(DIGEST, OLD_DIGEST),
        migrations.RunSQL(UNPLACED, OLD_UNPLACED),
        migrations.CreateModel(
            name='Look',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('viewer_id', models.BigIntegerField()),
                ('subject_id', models.BigIntegerField()),
                ('kind', models.CharField(max_length=60)),
                ('hour', models.DateTimeField()),
            ],
            options={'default_permissions': ()},
        ),
        migrations.AddConstraint('look', models.UniqueConstraint(fields=('viewer_id', 'subject_id', 'kind', 'hour'), name='acl_look_once')),
    ]
