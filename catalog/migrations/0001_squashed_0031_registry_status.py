"""Tables of the catalogue, in one step for a new database."""

import acl.platform.stored_json
import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.lookups
import pgvector.django.sparsevec
import pgvector.django.vector
import uuid
from django.conf import settings
from django.db import migrations, models
from acl.platform.migration_operations import CreateTables


class KeptVectorExtension(pgvector.django.VectorExtension):
    """pgvector, which stays on the way back: it belongs to a superuser, and not to the tables' owner."""

    def database_backwards(self, *args: object) -> None:
        pass


# The changes of the catalogue are counted, whoever makes them, in the transaction of the change.
CHANGES = """
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
NO_CHANGES = """
DROP TRIGGER catalog_integration_changed ON catalog_integration;
DROP TRIGGER catalog_capability_changed ON catalog_capability;
DROP FUNCTION catalog_count_change();
"""

# `reviewed` is a digest of the texts that passed the gate. What is inserted or changed in another way (by
# hand at psql, by a bulk update) is quarantined. The mark is a net against forgetting, and no boundary.
# Texts are compared as jsonb: another order of a schema's keys is no change.
GATE = """
CREATE FUNCTION catalog_texts_digest(c catalog_capability) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT encode(sha256(convert_to(jsonb_build_array(c.full_name, c.action, c.display_name, c.description, c.category, c.tags, c.input_schema, c.output_schema, c.content, c.examples, c.annotations, c.required_secrets, c.required_tools, c.declared_edges)::text, 'UTF8')), 'hex')
$$;
CREATE FUNCTION catalog_keep_reviewed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed boolean;
BEGIN
  IF current_setting('pegboard.gate', true) = 'open' THEN
    NEW.reviewed := catalog_texts_digest(NEW);
    RETURN NEW;
  END IF;
  IF TG_OP = 'INSERT' THEN
    NEW.reviewed := '';
    IF NEW.state = 'approved' THEN NEW.state := 'quarantined'; END IF;
    RETURN NEW;
  END IF;
  changed := ROW(NEW.full_name, NEW.action, NEW.display_name, NEW.description, NEW.category, NEW.tags, NEW.input_schema::jsonb, NEW.output_schema::jsonb, NEW.content, NEW.examples, NEW.annotations, NEW.required_secrets, NEW.required_tools, NEW.declared_edges) IS DISTINCT FROM ROW(OLD.full_name, OLD.action, OLD.display_name, OLD.description, OLD.category, OLD.tags, OLD.input_schema::jsonb, OLD.output_schema::jsonb, OLD.content, OLD.examples, OLD.annotations, OLD.required_secrets, OLD.required_tools, OLD.declared_edges);
  NEW.reviewed := OLD.reviewed;
  IF NEW.state = 'approved' AND (changed OR OLD.state <> 'approved')
     AND catalog_texts_digest(NEW) <> NEW.reviewed THEN
    NEW.state := 'quarantined';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER catalog_capability_reviewed BEFORE INSERT OR UPDATE ON catalog_capability
  FOR EACH ROW EXECUTE FUNCTION catalog_keep_reviewed();
"""
NO_GATE = """
DROP TRIGGER catalog_capability_reviewed ON catalog_capability;
DROP FUNCTION catalog_keep_reviewed();
DROP FUNCTION catalog_texts_digest(catalog_capability);
"""

# Changes of vectors, words and relations, from which processes build their candidate index. Each
# transaction takes a counter that no other one holds, so counting waits for nobody.
INDEX_CHANGES = """
CREATE FUNCTION catalog_count_index_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  free bigint;
BEGIN
  SELECT id INTO free FROM catalog_indexversion ORDER BY id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
  IF free IS NULL THEN
    INSERT INTO catalog_indexversion (number) VALUES (1);
  ELSE
    UPDATE catalog_indexversion SET number = number + 1 WHERE id = free;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER catalog_embedding_indexed
  AFTER INSERT OR DELETE OR UPDATE OF capability_id, model_id, vector ON catalog_embedding
  FOR EACH STATEMENT EXECUTE FUNCTION catalog_count_index_change();
CREATE TRIGGER catalog_lexicalvector_indexed
  AFTER INSERT OR DELETE OR UPDATE ON catalog_lexicalvector
  FOR EACH STATEMENT EXECUTE FUNCTION catalog_count_index_change();
CREATE TRIGGER catalog_edge_indexed AFTER INSERT OR DELETE OR UPDATE ON catalog_edge
  FOR EACH STATEMENT EXECUTE FUNCTION catalog_count_index_change();
CREATE TRIGGER catalog_trait_indexed AFTER INSERT OR DELETE OR UPDATE ON catalog_trait
  FOR EACH STATEMENT EXECUTE FUNCTION catalog_count_index_change();
-- Processes build their index for the first time at number 1.
INSERT INTO catalog_indexversion (number) VALUES (1);
"""
NO_INDEX_CHANGES = """
DROP TRIGGER catalog_trait_indexed ON catalog_trait;
DROP TRIGGER catalog_edge_indexed ON catalog_edge;
DROP TRIGGER catalog_lexicalvector_indexed ON catalog_lexicalvector;
DROP TRIGGER catalog_embedding_indexed ON catalog_embedding;
DROP FUNCTION catalog_count_index_change();
"""


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('acl', '0001_squashed_0018_client_documents'),
        ('auth', '0012_alter_user_first_name_max_length'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        KeptVectorExtension(),
        CreateTables([
            migrations.CreateModel(
                name='Capability',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('integration', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='capabilities', to='catalog.integration')),
                    ('identifier', models.CharField(max_length=200, unique=True)),
                    ('full_name', models.CharField(max_length=64, unique=True, validators=[django.core.validators.RegexValidator('^[a-zA-Z0-9_-]{1,64}$')])),
                    ('kind', models.CharField(choices=[('tool', 'Tool'), ('skill', 'Skill'), ('extension', 'Extension'), ('channel', 'Channel'), ('voice', 'Voice'), ('emergent-tool', 'Emergent tool')], max_length=16)),
                    ('action', models.CharField(max_length=200)),
                    ('display_name', models.CharField(max_length=200)),
                    ('description', models.TextField(blank=True)),
                    ('category', models.CharField(db_index=True, max_length=60)),
                    ('category_inferred', models.BooleanField(default=False, help_text='Worked out from name and description, not declared.')),
                    ('tags', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=60), blank=True, default=list, size=None)),
                    ('input_schema', acl.platform.stored_json.OrderedJSONField(blank=True, null=True)),
                    ('output_schema', acl.platform.stored_json.OrderedJSONField(blank=True, null=True)),
                    ('content', models.TextField(blank=True, help_text="A skill's Markdown.")),
                    ('examples', models.JSONField(blank=True, default=list)),
                    ('required_secrets', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=120), blank=True, default=list, size=None)),
                    ('required_tools', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=200), blank=True, default=list, size=None)),
                    ('declared_edges', models.JSONField(blank=True, default=list)),
                    ('annotations', models.JSONField(blank=True, default=dict)),
                    ('parameters_summary', models.CharField(blank=True, max_length=500)),
                    ('side_effect', models.CharField(choices=[('read', 'Read'), ('write', 'Write'), ('delete', 'Delete'), ('unknown', 'Unknown')], default='read', help_text='Unknown counts as a write.', max_length=8)),
                    ('declared_effect', models.CharField(blank=True, editable=False, help_text='As its source declares it, if it does.', max_length=8)),
                    ('effect_confidence', models.FloatField(default=0.0, help_text='From 0 to 1.')),
                    ('effect_evidence', models.JSONField(blank=True, default=dict, help_text='Reasons for the side effect and for each flag.')),
                    ('effect_flags', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=24), blank=True, default=list, help_text='Any of reaches_outside, returns_foreign_text and reads_private_data.', size=None)),
                    ('ai_access', models.CharField(choices=[('execute', 'Execute'), ('propose', 'Propose'), ('blocked', 'Blocked')], default='execute', max_length=8)),
                    ('available', models.BooleanField(default=True)),
                    ('unavailable_reason', models.CharField(blank=True, max_length=300)),
                    ('state', models.CharField(choices=[('pending', 'Pending'), ('approved', 'Approved'), ('quarantined', 'Quarantined')], default='approved', max_length=12)),
                    ('core', models.BooleanField(default=False, help_text='Competes for the places kept for core.')),
                    ('pinned', models.BooleanField(default=False, help_text='Part of every selection.')),
                    ('source_ref', models.JSONField(blank=True, default=dict)),
                    ('hidden_characters', models.PositiveIntegerField(default=0)),
                    ('definition_hash', models.CharField(max_length=64)),
                    ('reviewed', models.CharField(blank=True, editable=False, help_text='Digest of the texts that passed the gate; set by the database.', max_length=64)),
                    ('fingerprint', models.CharField(help_text='Equal where the definition is the same on another integration.', max_length=64)),
                    ('tokens', models.PositiveIntegerField(default=0, help_text='Estimate for the full definition.')),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('updated_at', models.DateTimeField(auto_now=True)),
                ],
                options={
                    'verbose_name_plural': 'capabilities',
                    'ordering': ['full_name'],
                    'permissions': [('use_capability', 'Can use the capability')],
                    'indexes': [models.Index(condition=models.Q(('core', True), ('pinned', True), _connector='OR'), fields=['id'], name='catalog_always'), models.Index(fields=['integration'], include=('id', 'tokens', 'ai_access', 'state', 'available', 'core', 'pinned', 'kind'), name='catalog_rights')],
                    'constraints': [models.CheckConstraint(condition=models.Q(django.db.models.lookups.IsNull(acl.platform.stored_json.AsJsonb(models.F('input_schema')), False), ('input_schema__isnull', True), _connector='OR'), name='input_schema_is_plain'), models.CheckConstraint(condition=models.Q(django.db.models.lookups.IsNull(acl.platform.stored_json.AsJsonb(models.F('output_schema')), False), ('output_schema__isnull', True), _connector='OR'), name='output_schema_is_plain')],
                },
            ),
            migrations.CreateModel(
                name='CatalogVersion',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('number', models.PositiveBigIntegerField(default=1)),
                ],
                options={
                    'indexes': [],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='IconImage',
                fields=[
                    ('public_id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                    ('digest', models.CharField(help_text='SHA-256 of its content.', max_length=64, unique=True)),
                    ('content', models.BinaryField(help_text='A PNG that Pegboard wrote.')),
                    ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ],
                options={
                    'ordering': ['-created_at', 'pk'],
                    'indexes': [],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='IndexVersion',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('number', models.PositiveBigIntegerField(default=1)),
                ],
                options={
                    'indexes': [],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='OAuthRevocation',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('endpoint', models.CharField(max_length=500)),
                    ('client_id', models.CharField(max_length=500)),
                    ('auth_method', models.CharField(max_length=40)),
                    ('sealed_token', models.BinaryField()),
                    ('token_purpose', models.CharField(max_length=300)),
                    ('sealed_client', models.BinaryField(default=b'', help_text="The client's secret, if it has one.")),
                    ('client_purpose', models.CharField(blank=True, max_length=300)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'ordering': ['pk'],
                    'indexes': [],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='Preset',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(max_length=120, unique=True)),
                    ('description', models.CharField(blank=True, max_length=500)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('updated_at', models.DateTimeField(auto_now=True)),
                    ('capabilities', models.ManyToManyField(related_name='presets', through='catalog.PresetMember', to='catalog.capability')),
                ],
                options={
                    'ordering': ['name'],
                    'indexes': [],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='ApiDocument',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('public_id', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                    ('address', models.CharField(blank=True, help_text='Where it was fetched; empty if it was given as text.', max_length=500)),
                    ('digest', models.CharField(help_text='Of its text.', max_length=64)),
                    ('content', models.BinaryField(help_text='Its text, compressed.')),
                    ('outline', models.JSONField(blank=True, default=list, help_text='Its operations: name, method, path, summary, tags.')),
                    ('by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'ordering': ['-created_at', '-pk'],
                    'indexes': [],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='LexicalVector',
                fields=[
                    ('capability', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='lexical', serialize=False, to='catalog.capability')),
                    ('terms', pgvector.django.sparsevec.SparseVectorField(dimensions=262144)),
                ],
                options={
                    'indexes': [],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='EmbeddingModel',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('name', models.CharField(max_length=200, unique=True)),
                    ('dimension', models.PositiveIntegerField()),
                    ('active', models.BooleanField(default=False)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('active', True)), fields=('active',), name='catalog_one_active_model')],
                    'indexes': [],
                },
            ),
            migrations.CreateModel(
                name='IconSource',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('address', models.TextField(help_text='A web address, or a data: address with the picture.')),
                    ('address_digest', models.CharField(help_text='SHA-256 of it.', max_length=64, unique=True)),
                    ('state', models.CharField(choices=[('waiting', 'Waiting'), ('ready', 'Ready'), ('failed', 'Failed')], default='waiting', max_length=8)),
                    ('problem', models.CharField(blank=True, help_text='Why it is not shown.', max_length=300)),
                    ('image', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='sources', to='catalog.iconimage')),
                    ('attempts', models.PositiveSmallIntegerField(default=0)),
                    ('due_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    ('read_at', models.DateTimeField(blank=True, null=True)),
                    ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ],
                options={
                    'ordering': ['pk'],
                    'indexes': [models.Index(fields=['due_at', 'id'], name='icon_due')],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='Integration',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('slug', models.CharField(max_length=48, unique=True, validators=[django.core.validators.RegexValidator('^[a-z0-9][a-z0-9_-]*$')])),
                    ('kind', models.CharField(choices=[('mcp', 'MCP server'), ('openapi', 'HTTP API'), ('skill', 'Skill'), ('extension', 'Extension'), ('channel', 'Channel'), ('voice', 'Voice'), ('manifest', 'Manifest'), ('builtin', 'Built-in'), ('catalog', 'Imported catalogue')], max_length=12)),
                    ('title', models.CharField(max_length=200)),
                    ('description', models.TextField(blank=True)),
                    ('publisher', models.CharField(blank=True, max_length=200)),
                    ('version', models.CharField(blank=True, max_length=80)),
                    ('licence', models.CharField(blank=True, max_length=80)),
                    ('homepage', models.CharField(blank=True, max_length=500)),
                    ('listing', models.CharField(blank=True, help_text='The listing it came from.', max_length=200)),
                    ('transport', models.CharField(blank=True, choices=[('stdio', 'stdio'), ('http', 'HTTP'), ('sse', 'SSE'), ('openapi', 'OpenAPI')], max_length=8)),
                    ('endpoint', models.CharField(blank=True, max_length=500)),
                    ('command', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=500), blank=True, default=list, size=None)),
                    ('required_secrets', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=120), blank=True, default=list, size=None)),
                    ('own_secrets', models.BooleanField(default=False, help_text='People may use secrets and accounts of their own.')),
                    ('source_ref', models.JSONField(blank=True, default=dict)),
                    ('command_digest', models.CharField(blank=True, help_text='Of the command that was confirmed; no other starts.', max_length=64)),
                    ('came_from', models.CharField(blank=True, help_text='The source that declared it first; another one cannot change it.', max_length=500)),
                    ('unconfirmed', models.BooleanField(default=False, help_text='Imported: nothing is sent to it or started before an admin confirms it.')),
                    ('package', models.JSONField(blank=True, default=dict, help_text='Where its package is, how it is started from there, and of which files it is.')),
                    ('network', models.CharField(choices=[('listed', 'Listed hosts only'), ('all', 'The whole network')], db_default='listed', default='listed', help_text='What its program may reach from its cell.', max_length=8)),
                    ('allowed_hosts', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=260), blank=True, db_default=[], default=list, help_text='Hosts that its program may reach, as api.example.com or *.example.com:8443.', size=None)),
                    ('announces', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=24), blank=True, db_default=[], default=list, editable=False, help_text='What its server announced beside tools at its last check, such as resources.', size=None)),
                    ('icon', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='integrations', to='catalog.iconsource')),
                    ('enabled', models.BooleanField(default=True)),
                    ('state', models.CharField(choices=[('pending', 'Pending'), ('approved', 'Approved'), ('quarantined', 'Quarantined')], default='approved', max_length=12)),
                    ('restricted', models.BooleanField(default=False, help_text='Never part of what open groups may use by default.')),
                    ('requestable', models.BooleanField(db_default=False, default=False, help_text='Everyone may see its name and those of its tools where nothing else fits, and ask for them.')),
                    ('registry_status', models.CharField(choices=[('draft', 'draft'), ('active', 'active'), ('deprecated', 'deprecated')], db_default='active', default='active', help_text='In the registry that Pegboard serves; a draft is not listed there.', max_length=10)),
                    ('connection', models.CharField(choices=[('not_needed', 'needs none'), ('disconnected', 'Disconnected'), ('connected', 'Connected'), ('failing', 'Failing')], default='not_needed', max_length=12)),
                    ('health', models.CharField(blank=True, help_text='The last problem, in words.', max_length=500)),
                    ('health_checked_at', models.DateTimeField(blank=True, null=True)),
                    ('problem', models.CharField(blank=True, db_default='', default='', help_text='Code of the last problem.', max_length=24)),
                    ('failing_since', models.DateTimeField(blank=True, null=True)),
                    ('failures', models.PositiveIntegerField(db_default=0, default=0, editable=False, help_text='Failed checks and calls in a row.')),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('updated_at', models.DateTimeField(auto_now=True)),
                ],
                options={
                    'ordering': ['slug'],
                    'permissions': [('use_integration', "Can use the integration's capabilities")],
                    'indexes': [],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='HealthCheck',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('integration', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='checks', to='catalog.integration')),
                    ('checked_at', models.DateTimeField(auto_now_add=True)),
                    ('reason', models.CharField(blank=True, help_text='Empty where all was well.', max_length=24)),
                    ('last_words', models.TextField(blank=True, help_text='What the server said last, cleaned.')),
                    ('milliseconds', models.PositiveIntegerField(blank=True, null=True)),
                    ('tools', models.PositiveIntegerField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['-checked_at', '-pk'],
                    'indexes': [models.Index(fields=['integration', '-id'], name='newest_checks')],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='Definition',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('integration', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='definitions', to='catalog.integration')),
                    ('name', models.CharField(blank=True, help_text='As its server wants to hear it; empty for itself.', max_length=200)),
                    ('origin', models.CharField(choices=[('server', 'its server'), ('import', 'an import'), ('manifest', 'a watched folder'), ('starter', 'the starter collection'), ('listing', 'a listing of the marketplace'), ('runtime', 'the API'), ('edit', "an admin's edit")], default='server', max_length=8)),
                    ('source', models.CharField(blank=True, help_text='The file it was read from.', max_length=500)),
                    ('standing', models.CharField(choices=[('approved', 'Approved'), ('new', 'New'), ('changed', 'Changed'), ('returned', 'as it was approved again'), ('gone', 'Gone'), ('rejected', 'Rejected')], max_length=8)),
                    ('approved', models.TextField(blank=True)),
                    ('approved_hash', models.CharField(blank=True, max_length=64)),
                    ('approved_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('approved_at', models.DateTimeField(blank=True, null=True)),
                    ('proposed', models.TextField(blank=True)),
                    ('proposed_hash', models.CharField(blank=True, max_length=64)),
                    ('findings', models.JSONField(blank=True, default=list)),
                    ('problem', models.CharField(blank=True, help_text='Why it cannot be stored.', max_length=500)),
                    ('changed_at', models.DateTimeField(auto_now=True)),
                ],
                options={
                    'ordering': ['name', 'pk'],
                    'constraints': [models.UniqueConstraint(fields=('integration', 'name'), name='one_definition_each'), models.CheckConstraint(condition=models.Q(models.Q(('standing', 'approved'), _negated=True), models.Q(models.Q(('approved_hash', ''), _negated=True), ('proposed', '')), _connector='OR'), name='approved_is_pinned'), models.CheckConstraint(condition=models.Q(models.Q(('standing__in', ('new', 'changed')), _negated=True), models.Q(('proposed', ''), _negated=True), _connector='OR'), name='waiting_has_a_text')],
                    'indexes': [],
                },
            ),
            migrations.CreateModel(
                name='IntegrationGroupPermission',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('permission', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='auth.permission')),
                    ('group', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='auth.group')),
                    ('content_object', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='catalog.integration')),
                ],
                options={
                    'unique_together': {('group', 'permission', 'content_object')},
                    'abstract': False,
                    'indexes': [],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='IntegrationUserPermission',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('permission', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='auth.permission')),
                    ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL)),
                    ('content_object', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='catalog.integration')),
                ],
                options={
                    'unique_together': {('user', 'permission', 'content_object')},
                    'abstract': False,
                    'indexes': [],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='ManifestFile',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('path', models.CharField(max_length=1000, unique=True)),
                    ('capability', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='manifest', to='catalog.capability')),
                    ('problems', models.TextField(blank=True, help_text='One a line: the field and the reason.')),
                    ('changed_at', models.DateTimeField(auto_now=True, help_text='When any of this last changed.')),
                ],
                options={
                    'ordering': ['path'],
                    'indexes': [],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='Mention',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('capability', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='mentions', to='catalog.capability')),
                    ('name', models.CharField(help_text='An id or a full name.', max_length=300)),
                    ('kind', models.CharField(choices=[('DEPENDS_ON', 'depends on'), ('COMPOSED_WITH', 'composed with'), ('TAGGED_WITH', 'tagged alike'), ('SAME_CATEGORY', 'of the same category'), ('DECLARED', 'declared')], max_length=16)),
                    ('weight', models.FloatField()),
                    ('origin', models.CharField(choices=[('metadata', 'Metadata'), ('preset', 'Preset'), ('manifest', 'Manifest'), ('admin', 'Admin')], max_length=8)),
                ],
                options={
                    'indexes': [models.Index(fields=['name'], name='catalog_mention_name')],
                    'constraints': [models.UniqueConstraint(fields=('capability', 'name', 'kind', 'origin'), name='catalog_mention_once')],
                },
            ),
            migrations.CreateModel(
                name='OAuthClient',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('integration', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='oauth_client', to='catalog.integration')),
                    ('client_id', models.CharField(max_length=500)),
                    ('issuer', models.CharField(blank=True, help_text='Empty until one set by hand is first used.', max_length=500)),
                    ('redirect_uri', models.CharField(blank=True, max_length=500)),
                    ('auth_method', models.CharField(blank=True, max_length=40)),
                    ('by_hand', models.BooleanField(default=False)),
                ],
                options={
                    'indexes': [],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='OAuthConnection',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('integration', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='oauth_connections', to='catalog.integration')),
                    ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('endpoint', models.CharField(help_text='Where the token may go; to another address it never does.', max_length=500)),
                    ('issuer', models.CharField(max_length=500)),
                    ('token_endpoint', models.CharField(max_length=500)),
                    ('revocation_endpoint', models.CharField(blank=True, db_default='', help_text='Where the token is given back, if anywhere.', max_length=500)),
                    ('resource', models.CharField(max_length=500)),
                    ('scope', models.CharField(blank=True, max_length=2000)),
                    ('asked_scope', models.CharField(blank=True, db_default='', help_text='What its sign-in asked for.', max_length=2000)),
                    ('wanted_scope', models.CharField(blank=True, db_default='', help_text='What the next sign-in asks for.', max_length=2000)),
                    ('expires_at', models.DateTimeField(blank=True, null=True)),
                    ('can_refresh', models.BooleanField(default=False)),
                    ('problem', models.CharField(blank=True, help_text='Why someone has to sign in again.', max_length=300)),
                    ('connected_at', models.DateTimeField(auto_now_add=True)),
                    ('refreshed_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['integration', 'pk'],
                    'constraints': [models.UniqueConstraint(fields=('integration', 'user'), name='one_account_at_a_server', nulls_distinct=False)],
                    'indexes': [],
                },
            ),
            migrations.CreateModel(
                name='OAuthSignIn',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('public_id', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                    ('integration', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='catalog.integration')),
                    ('user', models.ForeignKey(help_text='Whose account; empty for all.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('state', models.CharField(choices=[('preparing', 'Preparing'), ('waiting', 'waits for the person'), ('finishing', 'Finishing'), ('done', 'Done'), ('failed', 'Failed')], default='preparing', max_length=12)),
                    ('ticket_digest', models.CharField(help_text='Of the `state` that only the session knows.', max_length=64, unique=True)),
                    ('redirect_uri', models.CharField(max_length=500)),
                    ('authorization_url', models.TextField(blank=True)),
                    ('details', models.JSONField(default=dict, help_text='What was discovered; nothing secret.')),
                    ('sealed_verifier', models.BinaryField(default=b'')),
                    ('sealed_code', models.BinaryField(default=b'')),
                    ('message', models.TextField(blank=True)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'ordering': ['-created_at', '-pk'],
                    'indexes': [],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='OutgoingHost',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('integration', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='outgoing_hosts', to='catalog.integration')),
                    ('host', models.CharField(help_text='As a rule: a name, and a port but 443.', max_length=260)),
                    ('allowed', models.BooleanField()),
                    ('times', models.PositiveBigIntegerField(default=0)),
                    ('last_at', models.DateTimeField()),
                ],
                options={
                    'ordering': ['-last_at', 'pk'],
                    'constraints': [models.UniqueConstraint(fields=('integration', 'host'), name='outgoing_host_once')],
                    'indexes': [],
                },
            ),
            migrations.CreateModel(
                name='Edge',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('source', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='edges_out', to='catalog.capability')),
                    ('target', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='edges_in', to='catalog.capability')),
                    ('kind', models.CharField(choices=[('DEPENDS_ON', 'depends on'), ('COMPOSED_WITH', 'composed with'), ('TAGGED_WITH', 'tagged alike'), ('SAME_CATEGORY', 'of the same category'), ('DECLARED', 'declared')], max_length=16)),
                    ('weight', models.FloatField(help_text="0 to 1. An admin's weight replaces others; 0 means none.")),
                    ('origin', models.CharField(choices=[('metadata', 'Metadata'), ('preset', 'Preset'), ('manifest', 'Manifest'), ('admin', 'Admin')], max_length=8)),
                    ('preset', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='edges', to='catalog.preset')),
                    ('group', models.ForeignKey(blank=True, editable=False, help_text='Whose callers alone it holds for; empty: for everyone.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='auth.group')),
                ],
                options={
                    'ordering': ['source', 'kind', 'target', 'origin', 'pk'],
                    'constraints': [models.UniqueConstraint(fields=('source', 'target', 'kind', 'origin', 'preset', 'group'), name='catalog_edge_once', nulls_distinct=False), models.CheckConstraint(condition=models.Q(('source', models.F('target')), _negated=True), name='catalog_edge_between_two'), models.CheckConstraint(condition=models.Q(('weight__gte', 0), ('weight__lte', 1)), name='catalog_edge_weight'), models.CheckConstraint(condition=models.Q(('kind__in', ['DEPENDS_ON', 'DECLARED']), ('source__lt', models.F('target')), _connector='OR'), name='catalog_edge_without_direction'), models.CheckConstraint(condition=models.Q(models.Q(('origin', 'preset'), ('preset__isnull', False)), models.Q(models.Q(('origin', 'preset'), _negated=True), ('preset__isnull', True)), _connector='OR'), name='catalog_edge_preset'), models.CheckConstraint(condition=models.Q(('origin', 'admin'), ('group__isnull', True), _connector='OR'), name='catalog_edge_group')],
                    'indexes': [],
                },
            ),
            migrations.CreateModel(
                name='PresetMember',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('preset', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='members', to='catalog.preset')),
                    ('capability', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='catalog.capability')),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.UniqueConstraint(fields=('preset', 'capability'), name='catalog_preset_member_once')],
                    'indexes': [],
                },
            ),
            migrations.CreateModel(
                name='Rule',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('space', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='acl.space')),
                    ('effect', models.SmallIntegerField(choices=[(0, 'deny'), (1, 'propose'), (2, 'allow')])),
                    ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('group', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='auth.group')),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('integration', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='rules', to='catalog.integration')),
                    ('capability', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='rules', to='catalog.capability')),
                ],
                options={
                    'abstract': False,
                    'constraints': [models.CheckConstraint(condition=models.Q(('user__isnull', True), ('group__isnull', True), _connector='OR'), name='catalog_rule_one_subject'), models.CheckConstraint(condition=models.Q(('effect__in', [0, 1, 2])), name='catalog_rule_effect'), models.CheckConstraint(condition=models.Q(('integration__isnull', True), ('capability__isnull', True), _connector='XOR'), name='catalog_rule_one_target')],
                    'indexes': [],
                },
            ),
            migrations.CreateModel(
                name='RuntimeCapability',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('integration', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='catalog.integration')),
                    ('name', models.CharField(help_text='The action of the capability.', max_length=200)),
                    ('full_name', models.CharField(max_length=64, unique=True)),
                    ('group', models.ForeignKey(help_text='The proposing group.', on_delete=django.db.models.deletion.CASCADE, related_name='+', to='auth.group')),
                    ('owner', models.ForeignKey(help_text='Only they can change it.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('key', models.ForeignKey(help_text='The key it was made with.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='acl.apikey')),
                    ('state', models.CharField(choices=[('proposed', 'Proposed'), ('tried', 'Tried'), ('approved', 'Approved'), ('promoted', 'Promoted'), ('retired', 'Retired')], default='proposed', max_length=8)),
                    ('withdrawn', models.BooleanField(default=False, help_text='An admin retired it: its name is not given out again.')),
                    ('expires_at', models.DateTimeField(help_text='Empty once promoted.', null=True)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('changed_at', models.DateTimeField(auto_now=True)),
                ],
                options={
                    'verbose_name_plural': 'runtime capabilities',
                    'ordering': ['full_name'],
                    'indexes': [models.Index(condition=models.Q(('state', 'retired'), _negated=True), fields=['expires_at'], name='catalog_runtime_ends')],
                    'constraints': [models.UniqueConstraint(fields=('integration', 'name'), name='one_life_each'), models.CheckConstraint(condition=models.Q(models.Q(('withdrawn', True), _negated=True), ('state', 'retired'), _connector='OR'), name='withdrawn_is_retired'), models.CheckConstraint(condition=models.Q(('state__in', ('promoted', 'retired')), ('expires_at__isnull', False), _connector='OR'), name='unpromoted_expires')],
                },
            ),
            migrations.CreateModel(
                name='Secret',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('integration', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='secrets', to='catalog.integration')),
                    ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('name', models.CharField(max_length=120)),
                    ('sealed', models.BinaryField()),
                    ('set_at', models.DateTimeField(auto_now=True)),
                ],
                options={
                    'ordering': ['integration', 'name', 'pk'],
                    'constraints': [models.UniqueConstraint(fields=('integration', 'user', 'name'), name='one_secret_of_a_name', nulls_distinct=False)],
                    'indexes': [],
                },
            ),
            migrations.CreateModel(
                name='ServerProposal',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('actor', models.ForeignKey(blank=True, db_constraint=False, db_index=False, help_text='The person or service account that acted. Empty for a key without an owner.', null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('actor_kind', models.CharField(blank=True, choices=[('person', 'person'), ('service_account', 'service_account'), ('key', 'key'), ('operator', 'operator'), ('system', 'system')], db_default='', default='', max_length=16)),
                    ('credential', models.CharField(blank=True, choices=[('session', 'session'), ('key', 'key'), ('', '')], db_default='', default='', max_length=8)),
                    ('key', models.ForeignKey(blank=True, db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='acl.apikey')),
                    ('key_prefix', models.CharField(blank=True, db_default='', default='', max_length=12)),
                    ('key_name', models.CharField(blank=True, db_default='', default='', max_length=120)),
                    ('name', models.CharField(max_length=100)),
                    ('endpoint', models.CharField(blank=True, max_length=500)),
                    ('wanted', models.TextField(blank=True, db_default='', default='', help_text='What was pasted, if it is no address: a package, a command, a configuration.')),
                    ('reason', models.CharField(blank=True, max_length=500)),
                    ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('group', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='auth.group')),
                    ('state', models.CharField(choices=[('open', 'Open'), ('approved', 'Approved'), ('rejected', 'Rejected')], default='open', max_length=8)),
                    ('note', models.CharField(blank=True, max_length=500)),
                    ('answered_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('answered_at', models.DateTimeField(blank=True, null=True)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'ordering': ['created_at', 'pk'],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'open')), fields=('group', 'endpoint', 'wanted'), name='one_open_proposal_each')],
                    'indexes': [],
                },
            ),
            migrations.CreateModel(
                name='Sync',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('integration', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='syncs', to='catalog.integration')),
                    ('cause', models.CharField(choices=[('schedule', 'Schedule'), ('announced', 'the server said so'), ('person', 'asked for'), ('call', 'before a call')], max_length=9)),
                    ('synced_at', models.DateTimeField(auto_now_add=True)),
                    ('new', models.JSONField(blank=True, default=list)),
                    ('changed', models.JSONField(blank=True, default=list)),
                    ('gone', models.JSONField(blank=True, default=list)),
                    ('returned', models.JSONField(blank=True, default=list)),
                    ('unreadable', models.PositiveIntegerField(default=0)),
                    ('reason', models.CharField(blank=True, help_text='Empty where it could be read.', max_length=32)),
                ],
                options={
                    'ordering': ['-synced_at', '-pk'],
                    'indexes': [models.Index(fields=['integration', '-id'], name='newest_syncs')],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='Trait',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('capability', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='traits', to='catalog.capability')),
                    ('name', models.CharField(max_length=90)),
                ],
                options={
                    'indexes': [models.Index(fields=['name', 'capability'], name='catalog_trait_shared')],
                    'constraints': [models.UniqueConstraint(fields=('capability', 'name'), name='catalog_trait_once')],
                },
            ),
            migrations.CreateModel(
                name='CapabilityGroupPermission',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('permission', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='auth.permission')),
                    ('group', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='auth.group')),
                    ('content_object', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='catalog.capability')),
                ],
                options={
                    'unique_together': {('group', 'permission', 'content_object')},
                    'abstract': False,
                    'indexes': [],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='CapabilityUserPermission',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('permission', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='auth.permission')),
                    ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL)),
                    ('content_object', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='catalog.capability')),
                ],
                options={
                    'unique_together': {('user', 'permission', 'content_object')},
                    'abstract': False,
                    'indexes': [],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='Embedding',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('capability', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='embeddings', to='catalog.capability')),
                    ('model', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='embeddings', to='catalog.embeddingmodel')),
                    ('text_hash', models.CharField(help_text='Of the text as it is now.', max_length=64)),
                    ('vector', pgvector.django.vector.VectorField(null=True)),
                    ('vector_hash', models.CharField(blank=True, help_text='Of the text embedded.', max_length=64)),
                    ('attempts', models.PositiveSmallIntegerField(default=0)),
                    ('failure', models.CharField(blank=True, max_length=300)),
                    ('sent_at', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'indexes': [models.Index(condition=models.Q(('vector_hash', models.F('text_hash')), _negated=True), fields=['sent_at'], name='catalog_embedding_pending')],
                    'constraints': [models.UniqueConstraint(fields=('capability', 'model'), name='catalog_embedding_once')],
                },
            ),
        ]),
        migrations.RunSQL(CHANGES, NO_CHANGES),
        migrations.RunSQL(GATE, NO_GATE),
        migrations.RunSQL(INDEX_CHANGES, NO_INDEX_CHANGES),
    ]
