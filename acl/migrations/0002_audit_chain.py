"""Chains the audit log, and makes it append-only.

Everything is done by the database: the chain holds for whatever code writes an entry.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


CHAIN = """
-- An entry's digest: over the digest of the entry before it and over what the entry says. The text of
-- jsonb is canonical: one order of keys, one way to write a number.
CREATE FUNCTION acl_audit_digest(entry acl_auditentry) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT encode(sha256(convert_to(entry.previous || chr(10) || jsonb_build_array(
    to_char(entry.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    entry.by_id, entry.by_name, entry.action, entry.target, entry.details,
    entry.request_id, entry.key_prefix, entry.address)::text, 'UTF8')), 'hex')
$$;

-- All entries without a number, which are those of this transaction. The row of the head is locked
-- first: others wait there for the commit. It is written once, however many entries there are; each
-- version of a row makes the next one slower within a transaction.
CREATE FUNCTION acl_audit_append() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  head acl_audithead;
  entry acl_auditentry;
BEGIN
  INSERT INTO acl_audithead AS old (id, number, digest) VALUES (1, 0, repeat('0', 64))
    ON CONFLICT (id) DO UPDATE SET number = old.number RETURNING * INTO head;
  FOR entry IN SELECT * FROM acl_auditentry WHERE number IS NULL ORDER BY id LOOP
    entry.previous := head.digest;
    head.number := head.number + 1;
    head.digest := acl_audit_digest(entry);
    UPDATE acl_auditentry SET number = head.number, previous = entry.previous,
      digest = head.digest WHERE id = entry.id;
  END LOOP;
  UPDATE acl_audithead SET number = head.number, digest = head.digest WHERE id = 1;
END
$$;

-- What is there already.
SELECT acl_audit_append();
"""
PROMISES = """
-- Nobody chooses the place of an entry.
CREATE FUNCTION acl_audit_unplaced() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.number := NULL;
  NEW.previous := NULL;
  NEW.digest := NULL;
  RETURN NEW;
END
$$;
CREATE TRIGGER acl_audit_unplaced BEFORE INSERT ON acl_auditentry
  FOR EACH ROW EXECUTE FUNCTION acl_audit_unplaced();

-- At commit, when all other locks of the transaction are taken: nobody waits for anybody in a circle,
-- and the head is locked for a moment only.
CREATE FUNCTION acl_audit_placed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- The first entry of the transaction has brought the others along. Asked in this way, the plan
  -- goes by the id; with `number IS NULL` in the condition it went through all of them each time.
  IF (SELECT number FROM acl_auditentry WHERE id = NEW.id) IS NULL THEN
    PERFORM acl_audit_append();
  END IF;
  RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER acl_audit_placed AFTER INSERT ON acl_auditentry
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION acl_audit_placed();

-- A change from inside the trigger above has a depth of 2, any other has 1.
CREATE FUNCTION acl_audit_refused() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF pg_trigger_depth() > 1 AND TG_TABLE_NAME = 'acl_audithead' AND TG_OP IN ('INSERT', 'UPDATE') THEN
    RETURN NEW;
  ELSIF pg_trigger_depth() > 1 AND TG_TABLE_NAME = 'acl_auditentry' AND TG_OP = 'UPDATE' THEN
    IF OLD.number IS NULL THEN
      RETURN NEW;
    END IF;
  END IF;
  RAISE EXCEPTION 'the audit log is append-only: % on % is refused', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE TRIGGER acl_audit_unchanged BEFORE UPDATE OR DELETE ON acl_auditentry
  FOR EACH ROW EXECUTE FUNCTION acl_audit_refused();
CREATE TRIGGER acl_audit_kept BEFORE TRUNCATE ON acl_auditentry
  FOR EACH STATEMENT EXECUTE FUNCTION acl_audit_refused();
CREATE TRIGGER acl_audit_head_unchanged BEFORE INSERT OR UPDATE OR DELETE ON acl_audithead
  FOR EACH ROW EXECUTE FUNCTION acl_audit_refused();
CREATE TRIGGER acl_audit_head_kept BEFORE TRUNCATE ON acl_audithead
  FOR EACH STATEMENT EXECUTE FUNCTION acl_audit_refused();
"""
NO_PROMISES = """
DROP TRIGGER acl_audit_unplaced ON acl_auditentry;
DROP TRIGGER acl_audit_placed ON acl_auditentry;
DROP TRIGGER acl_audit_unchanged ON acl_auditentry;
DROP TRIGGER acl_audit_kept ON acl_auditentry;
DROP TRIGGER acl_audit_head_unchanged ON acl_audithead;
DROP TRIGGER acl_audit_head_kept ON acl_audithead;
DROP FUNCTION acl_audit_unplaced(), acl_audit_placed(), acl_audit_refused();
"""
NO_CHAIN = """
DROP FUNCTION acl_audit_append(), acl_audit_digest(acl_auditentry);
"""
NAMES = """
UPDATE acl_auditentry AS entry SET by_name = person.username
FROM auth_user AS person WHERE person.id = entry.by_id
"""
# On the way back, users who are gone cannot be pointed to.
NOBODY = """
UPDATE acl_auditentry SET by_id = NULL WHERE by_id NOT IN (SELECT id FROM auth_user)
"""


class Migration(migrations.Migration):

    dependencies = [
        ('acl', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='AuditHead',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.BigIntegerField()),
                ('digest', models.CharField(max_length=64)),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.AddField(
            model_name='auditentry',
            name='address',
            field=models.CharField(blank=True, default='', max_length=45),
        ),
        migrations.AddField(
            model_name='auditentry',
            name='by_name',
            field=models.CharField(blank=True, default='', max_length=150),
        ),
        migrations.AddField(
            model_name='auditentry',
            name='digest',
            field=models.CharField(editable=False, max_length=64, null=True),
        ),
        migrations.AddField(
            model_name='auditentry',
            name='key_prefix',
            field=models.CharField(blank=True, default='', max_length=12),
        ),
        migrations.AddField(
            model_name='auditentry',
            name='number',
            field=models.BigIntegerField(editable=False, null=True, unique=True),
        ),
        migrations.AddField(
            model_name='auditentry',
            name='previous',
            field=models.CharField(editable=False, max_length=64, null=True),
        ),
        migrations.AddField(
            model_name='auditentry',
            name='request_id',
            field=models.CharField(blank=True, default='', max_length=64),
        ),
        migrations.AlterField(
            model_name='auditentry',
            name='by',
            field=models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(fields=['action', '-id'], name='acl_audit_action'),
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(fields=['by_name', '-id'], name='acl_audit_by_name'),
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(condition=models.Q(('number', None)), fields=['id'], name='acl_audit_unplaced'),
        ),
        migrations.AddConstraint(
            model_name='audithead',
            constraint=models.CheckConstraint(condition=models.Q(('pk', 1)), name='acl_audithead_one'),
        ),
        migrations.RunSQL(NAMES, NOBODY),
        migrations.RunSQL(CHAIN, NO_CHAIN),
        migrations.RunSQL(PROMISES, NO_PROMISES),
    ]
