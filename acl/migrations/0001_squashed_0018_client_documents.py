"""Tables of rights, people, keys and the audit log, in one step for a new database."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models
from acl.platform.migration_operations import CreateTables

# The audit log is chained and append-only, whatever code writes an entry.
AUDIT_CHAIN = """
-- An entry's digest: over the digest of the entry before it and over what the entry says; `version`
-- says which fields it covers, so that entries of earlier releases keep theirs. The text of
-- jsonb is canonical: one order of keys, one way to write a number.
CREATE FUNCTION acl_audit_digest(entry acl_auditentry) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT encode(sha256(convert_to(entry.previous || chr(10) || (jsonb_build_array(
    to_char(entry.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    entry.by_id, entry.by_name, entry.action, entry.target, entry.details,
    entry.request_id, entry.key_prefix, entry.address)
    || CASE WHEN entry.version = 1 THEN '[]'::jsonb ELSE jsonb_build_array(
      entry.version, entry.actor_kind, entry.credential, entry.key_id, entry.key_name,
      entry.subject_id, entry.subject_name) END)::text, 'UTF8')), 'hex')
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
"""
NO_AUDIT_CHAIN = """
DROP FUNCTION acl_audit_append(), acl_audit_digest(acl_auditentry);
"""

AUDIT_PROMISES = """
-- Nobody chooses the place of an entry, nor its version: with an older one, part of it would be in no
-- digest.
CREATE FUNCTION acl_audit_unplaced() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.number := NULL;
  NEW.previous := NULL;
  NEW.digest := NULL;
  NEW.version := 2;
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
NO_AUDIT_PROMISES = """
DROP TRIGGER acl_audit_unplaced ON acl_auditentry;
DROP TRIGGER acl_audit_placed ON acl_auditentry;
DROP TRIGGER acl_audit_unchanged ON acl_auditentry;
DROP TRIGGER acl_audit_kept ON acl_auditentry;
DROP TRIGGER acl_audit_head_unchanged ON acl_audithead;
DROP TRIGGER acl_audit_head_kept ON acl_audithead;
DROP FUNCTION acl_audit_unplaced(), acl_audit_placed(), acl_audit_refused();
"""

# Each group gets a policy and a root space, and another if that is removed, whoever does it. At the
# end of the transaction, so that whoever makes a group with a root of its own may.
ROOT_SPACES = """
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
"""
NO_ROOT_SPACES = """
DROP TRIGGER acl_space_gone ON acl_space;
DROP FUNCTION acl_space_gone();
DROP TRIGGER acl_group_made ON auth_group;
DROP FUNCTION acl_group_made();
DROP FUNCTION acl_provide_for_group(integer);
"""

# Service accounts never have a password.
SERVICE_ACCOUNTS = """
-- Django writes passwords that nothing fits with `!` in front.
CREATE FUNCTION acl_service_account_without_password() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT FROM auth_user person JOIN acl_serviceaccount account ON account.user_id = person.id
    WHERE person.id = (to_jsonb(NEW) ->> CASE TG_TABLE_NAME WHEN 'auth_user' THEN 'id' ELSE 'user_id' END)::int
      AND person.password NOT LIKE '!%'
  ) THEN
    RAISE EXCEPTION 'a service account has no password' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER acl_service_account_password AFTER UPDATE OF password ON auth_user
  FOR EACH ROW WHEN (NEW.password NOT LIKE '!%' AND NEW.password <> OLD.password)
  EXECUTE FUNCTION acl_service_account_without_password();
CREATE TRIGGER acl_service_account_password AFTER INSERT OR UPDATE ON acl_serviceaccount
  FOR EACH ROW EXECUTE FUNCTION acl_service_account_without_password();
"""
NO_SERVICE_ACCOUNTS = """
DROP TRIGGER acl_service_account_password ON auth_user;
DROP TRIGGER acl_service_account_password ON acl_serviceaccount;
DROP FUNCTION acl_service_account_without_password();
"""


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        CreateTables([
            migrations.CreateModel(
                name='RegisteredClient',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('client_id', models.CharField(editable=False, max_length=500, unique=True)),
                    ('name', models.CharField(max_length=120)),
                    ('redirect_uris', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=500), size=None)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'verbose_name': 'registered client',
                    'ordering': ['-created_at', 'pk'],
                    'indexes': [],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='ServiceAccount',
                fields=[
                    ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='service_account', serialize=False, to=settings.AUTH_USER_MODEL)),
                    ('description', models.CharField(blank=True, max_length=300)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'indexes': [],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='ApiKey',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(max_length=120)),
                    ('all_groups', models.BooleanField(default=False, help_text='It works in every group of the person that it acts for.')),
                    ('owner', models.ForeignKey(blank=True, help_text='Whom the key acts for when a request names nobody.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='api_keys', to=settings.AUTH_USER_MODEL)),
                    ('acts_for_users', models.BooleanField(default=False)),
                    ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('select', 'Select'), ('discover', 'Discover'), ('execute', 'Execute'), ('register', 'Register'), ('scim', 'Scim'), ('admin', 'Admin')], max_length=16), size=None)),
                    ('prefix', models.CharField(help_text="The key's first characters, to tell keys apart.", max_length=12)),
                    ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                    ('rank', models.PositiveSmallIntegerField(choices=[(0, 'member'), (1, 'admin'), (2, 'superuser')], default=0, editable=False, help_text="Its owner's rank when it was made: the key never gets a higher one.")),
                    ('created_by', models.ForeignKey(editable=False, help_text='The person who made it, or who owned the key that did.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('made_with', models.ForeignKey(editable=False, help_text='The key that it was made with, and that it does not outlive.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='made', to='acl.apikey')),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('expires_at', models.DateTimeField(blank=True, null=True)),
                    ('revoked_at', models.DateTimeField(blank=True, null=True)),
                    ('replaced_at', models.DateTimeField(blank=True, editable=False, help_text='When its successor was made.', null=True)),
                    ('last_used_at', models.DateTimeField(blank=True, editable=False, null=True)),
                    ('groups', models.ManyToManyField(blank=True, help_text='The groups that the key works in.', related_name='api_keys', to='auth.group')),
                ],
                options={
                    'verbose_name': 'API key',
                    'ordering': ['-created_at', 'pk'],
                    'permissions': [('act_for_others', 'Can act for other people')],
                    'indexes': [],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='AuditHead',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('number', models.BigIntegerField()),
                    ('digest', models.CharField(max_length=64)),
                ],
                options={
                    'default_permissions': (),
                    'constraints': [models.CheckConstraint(condition=models.Q(('pk', 1)), name='acl_audithead_one')],
                    'indexes': [],
                },
            ),
            migrations.CreateModel(
                name='ClientConnection',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('key', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='connection', to='acl.apikey')),
                    ('client', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='connections', to='acl.registeredclient')),
                    ('resource', models.CharField(help_text='The MCP address that it may use.', max_length=500)),
                ],
                options={
                    'verbose_name': 'client connection',
                    'ordering': ['-pk'],
                    'indexes': [],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='GroupPolicy',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('group', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='policy', to='auth.group')),
                    ('open_default', models.BooleanField(default=False, help_text='Open: members may use every integration that is not restricted. Otherwise only what the group or the member has been given.', verbose_name='open')),
                    ('joined_by_default', models.BooleanField(db_default=False, default=False, editable=False, help_text='New people join it, by whatever door they come.')),
                ],
                options={
                    'verbose_name_plural': 'group policies',
                    'indexes': [],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='Look',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('viewer_id', models.BigIntegerField()),
                    ('subject_id', models.BigIntegerField()),
                    ('kind', models.CharField(max_length=60)),
                    ('hour', models.DateTimeField()),
                ],
                options={
                    'default_permissions': (),
                    'constraints': [models.UniqueConstraint(fields=('viewer_id', 'subject_id', 'kind', 'hour'), name='acl_look_once')],
                    'indexes': [],
                },
            ),
            migrations.CreateModel(
                name='AuthorizationCode',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                    ('client', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='acl.registeredclient')),
                    ('person', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('redirect_uri', models.CharField(max_length=500)),
                    ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('select', 'Select'), ('discover', 'Discover'), ('execute', 'Execute'), ('register', 'Register'), ('scim', 'Scim'), ('admin', 'Admin')], max_length=16), size=None)),
                    ('resource', models.CharField(max_length=500)),
                    ('challenge', models.CharField(max_length=128)),
                    ('expires_at', models.DateTimeField()),
                    ('connection', models.ForeignKey(help_text='What it became.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='acl.clientconnection')),
                ],
                options={
                    'verbose_name': 'authorization code',
                    'ordering': ['-pk'],
                    'indexes': [],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='AccessRequest',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='access_requests', to=settings.AUTH_USER_MODEL)),
                    ('group', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='access_requests', to='auth.group')),
                    ('wish', models.CharField(max_length=500)),
                    ('state', models.CharField(choices=[('open', 'Open'), ('granted', 'Granted'), ('declined', 'Declined')], default='open', max_length=10)),
                    ('note', models.CharField(blank=True, max_length=500)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('answered_at', models.DateTimeField(blank=True, null=True)),
                    ('answered_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['-created_at', '-pk'],
                    'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('answered_at', None), ('answered_by', None), ('state', 'open')), models.Q(models.Q(('state', 'open'), _negated=True), ('answered_at__isnull', False)), _connector='OR'), name='acl_accessrequest_answered')],
                    'indexes': [],
                },
            ),
            migrations.CreateModel(
                name='AuditEntry',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('at', models.DateTimeField(auto_now_add=True)),
                    ('by', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('by_name', models.CharField(blank=True, default='', max_length=150)),
                    ('actor_kind', models.CharField(blank=True, db_default='', default='', max_length=16)),
                    ('credential', models.CharField(blank=True, db_default='', default='', max_length=8)),
                    ('key_id', models.BigIntegerField(blank=True, null=True)),
                    ('key_name', models.CharField(blank=True, db_default='', default='', max_length=120)),
                    ('subject_id', models.BigIntegerField(blank=True, null=True)),
                    ('subject_name', models.CharField(blank=True, db_default='', default='', max_length=150)),
                    ('action', models.CharField(max_length=60)),
                    ('target', models.CharField(max_length=200)),
                    ('details', models.JSONField(blank=True, default=dict)),
                    ('request_id', models.CharField(blank=True, default='', max_length=64)),
                    ('key_prefix', models.CharField(blank=True, default='', max_length=12)),
                    ('address', models.CharField(blank=True, default='', max_length=45)),
                    ('version', models.PositiveSmallIntegerField(db_default=2, default=2, editable=False, help_text='Which fields the digest covers.')),
                    ('number', models.BigIntegerField(editable=False, null=True, unique=True)),
                    ('previous', models.CharField(editable=False, max_length=64, null=True)),
                    ('digest', models.CharField(editable=False, max_length=64, null=True)),
                ],
                options={
                    'verbose_name_plural': 'audit entries',
                    'ordering': ['-at', '-pk'],
                    'indexes': [models.Index(fields=['action', '-id'], name='acl_audit_action'), models.Index(fields=['by_name', '-id'], name='acl_audit_by_name'), models.Index(condition=models.Q(('subject_name', ''), _negated=True), fields=['subject_name', '-id'], name='acl_audit_subject'), models.Index(condition=models.Q(('number', None)), fields=['id'], name='acl_audit_unplaced')],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='ClientToken',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                    ('connection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tokens', to='acl.clientconnection')),
                    ('kind', models.CharField(choices=[('access', 'Access'), ('refresh', 'Refresh')], max_length=7)),
                    ('expires_at', models.DateTimeField()),
                    ('used_at', models.DateTimeField(help_text='When a refresh token was exchanged.', null=True)),
                ],
                options={
                    'verbose_name': 'client token',
                    'ordering': ['-pk'],
                    'constraints': [models.CheckConstraint(condition=models.Q(('used_at__isnull', True), ('kind', 'refresh'), _connector='OR'), name='acl_clienttoken_only_refresh_is_used')],
                    'indexes': [],
                },
            ),
            migrations.CreateModel(
                name='Invitation',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('email', models.EmailField(max_length=254)),
                    ('role', models.CharField(choices=[('member', 'Member'), ('admin', 'Admin')], default='member', max_length=10)),
                    ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                    ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('person', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('expires_at', models.DateTimeField()),
                    ('accepted_at', models.DateTimeField(blank=True, null=True)),
                    ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                    ('groups', models.ManyToManyField(blank=True, related_name='+', to='auth.group')),
                ],
                options={
                    'ordering': ['-created_at', '-pk'],
                    'constraints': [models.UniqueConstraint(django.db.models.functions.text.Lower('email'), condition=models.Q(('accepted_at__isnull', True), ('withdrawn_at__isnull', True)), name='acl_invitation_one_open'), models.CheckConstraint(condition=models.Q(('accepted_at__isnull', True), ('withdrawn_at__isnull', True), _connector='OR'), name='acl_invitation_one_end')],
                    'indexes': [],
                },
            ),
            migrations.CreateModel(
                name='PersonLanguage',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='language', to=settings.AUTH_USER_MODEL)),
                    ('code', models.CharField(help_text='A tag such as de or de-AT, as it was said.', max_length=40)),
                    ('origin', models.CharField(choices=[('browser', 'Browser'), ('provider', 'identity provider'), ('person', 'Person')], max_length=8)),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.CheckConstraint(condition=models.Q(('code', ''), _negated=True), name='acl_personlanguage_has_code')],
                    'indexes': [],
                },
            ),
            migrations.CreateModel(
                name='ClientDocument',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('attempts', models.PositiveSmallIntegerField(default=0)),
                    ('sent_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    ('address', models.CharField(help_text='The client id.', max_length=500, unique=True)),
                    ('state', models.CharField(choices=[('waiting', 'Waiting'), ('reading', 'Reading'), ('ready', 'Ready'), ('failed', 'Failed')], default='waiting', max_length=8)),
                    ('problem', models.CharField(blank=True, help_text='Why it was refused.', max_length=300)),
                    ('client', models.OneToOneField(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='document', to='acl.registeredclient')),
                    ('asked_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), help_text='When a person last needed it.')),
                    ('kept_until', models.DateTimeField(help_text='Until then it is not read again, nor its refusal forgotten.', null=True)),
                ],
                options={
                    'verbose_name': 'client document',
                    'ordering': ['-pk'],
                    'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('state', 'ready'), _negated=True), models.Q(('client__isnull', False), ('kept_until__isnull', False)), _connector='OR'), name='acl_clientdocument_ready_is_a_client')],
                    'indexes': [],
                },
            ),
            migrations.CreateModel(
                name='ScimRecord',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('user', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='scim', to=settings.AUTH_USER_MODEL)),
                    ('group', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='scim', to='auth.group')),
                    ('external_id', models.CharField(blank=True, db_index=True, max_length=200)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('modified_at', models.DateTimeField(auto_now=True)),
                    ('deleted_at', models.DateTimeField(blank=True, help_text='A client deleted the person: SCIM no longer shows them.', null=True)),
                ],
                options={
                    'verbose_name': 'SCIM record',
                    'ordering': ['pk'],
                    'constraints': [models.CheckConstraint(condition=models.Q(('user__isnull', True), ('group__isnull', True), _connector='XOR'), name='acl_scimrecord_one_subject')],
                    'indexes': [],
                },
            ),
            migrations.CreateModel(
                name='Space',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('group', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='spaces', to='auth.group')),
                    ('parent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='children', to='acl.space')),
                    ('name', models.CharField(max_length=120)),
                    ('slug', models.SlugField(max_length=60)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(condition=models.Q(('parent__isnull', True)), fields=('group',), name='acl_space_one_root'), models.UniqueConstraint(fields=('group', 'slug'), name='acl_space_slug')],
                    'indexes': [],
                },
            ),
        ]),
        migrations.RunSQL(AUDIT_CHAIN, NO_AUDIT_CHAIN),
        migrations.RunSQL(AUDIT_PROMISES, NO_AUDIT_PROMISES),
        migrations.RunSQL(ROOT_SPACES, NO_ROOT_SPACES),
        migrations.RunSQL(SERVICE_ACCOUNTS, NO_SERVICE_ACCOUNTS),
    ]
