"""Tables of listings, sources and installations, in one step for a new database."""

import acl.platform.stored_json
import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.lookups
import django.utils.timezone
import marketplace.models.listing
import pgvector.django.halfvec
import pgvector.django.sparsevec
import uuid
from django.conf import settings
from django.db import migrations, models
from acl.platform.migration_operations import CreateTables

# A listing whose texts are changed without a new digest of them is unscanned again.
SCANNED_LISTINGS = """
CREATE FUNCTION marketplace_unscan_listing() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.texts_digest = OLD.texts_digest AND ROW(NEW.slug, NEW.title, NEW.description, NEW.publisher, NEW.licence, NEW.homepage, NEW.repository, NEW.category, NEW.tags, NEW.readme, NEW.tools, NEW.needs)
     IS DISTINCT FROM ROW(OLD.slug, OLD.title, OLD.description, OLD.publisher, OLD.licence, OLD.homepage, OLD.repository, OLD.category, OLD.tags, OLD.readme, OLD.tools, OLD.needs) THEN
    NEW.review := 'unscanned';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER marketplace_listing_scanned BEFORE UPDATE OF slug, title, description, publisher, licence, homepage, repository, category, tags, readme, tools, needs
  ON marketplace_listing FOR EACH ROW EXECUTE FUNCTION marketplace_unscan_listing();
"""
NO_SCANNED_LISTINGS = """
DROP TRIGGER marketplace_listing_scanned ON marketplace_listing;
DROP FUNCTION marketplace_unscan_listing();
"""


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('acl', '0001_squashed_0018_client_documents'),
        ('auth', '0012_alter_user_first_name_max_length'),
        ('catalog', '0001_squashed_0031_registry_status'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        CreateTables([
            migrations.CreateModel(
                name='Listing',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('slug', models.CharField(max_length=200, unique=True)),
                    ('source', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='listings', to='marketplace.source')),
                    ('key', models.CharField(help_text='What the source calls it.', max_length=300)),
                    ('kind', models.CharField(db_index=True, max_length=12)),
                    ('title', models.CharField(max_length=200)),
                    ('description', models.TextField(blank=True)),
                    ('publisher', models.CharField(blank=True, db_index=True, max_length=200)),
                    ('licence', models.CharField(blank=True, max_length=80)),
                    ('homepage', models.CharField(blank=True, max_length=500)),
                    ('repository', models.CharField(blank=True, max_length=500)),
                    ('version', models.CharField(blank=True, max_length=80)),
                    ('transport', models.CharField(blank=True, max_length=8)),
                    ('endpoint', models.CharField(blank=True, max_length=500)),
                    ('command', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=500), blank=True, default=list, size=None)),
                    ('required_secrets', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=120), blank=True, default=list, size=None)),
                    ('category', models.CharField(blank=True, db_index=True, max_length=60)),
                    ('tags', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=60), blank=True, default=list, size=None)),
                    ('readme', models.TextField(blank=True, help_text='Markdown, as the source gives it.')),
                    ('tools', models.JSONField(blank=True, default=list, help_text='Known beforehand: name, title, description of each.')),
                    ('needs', models.JSONField(blank=True, default=dict, help_text='Variables, program and hosts that it needs.')),
                    ('details', models.JSONField(blank=True, default=dict)),
                    ('icon', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='listings', to='catalog.iconsource')),
                    ('review', models.CharField(choices=[('unscanned', 'Unscanned'), ('clear', 'Clear'), ('held', 'Held'), ('approved', 'Approved'), ('rejected', 'kept hidden')], default='unscanned', help_text='Only what is clear or approved is there for others than admins.', max_length=9)),
                    ('findings', models.JSONField(blank=True, default=list, help_text='What the scanner noticed in its texts.')),
                    ('texts_digest', models.CharField(blank=True, help_text='Of the texts that were scanned.', max_length=64)),
                    ('run', models.PositiveIntegerField(default=0, help_text='The reading that last saw it.')),
                    ('vanished_at', models.DateTimeField(blank=True, help_text='Since when its source no longer offers it.', null=True)),
                    ('published_at', models.DateTimeField(blank=True, null=True)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('updated_at', models.DateTimeField(auto_now=True)),
                ],
                options={
                    'ordering': ['title', 'pk'],
                    'indexes': [models.Index(condition=models.Q(('vanished_at', None)), fields=['title', 'id'], include=('kind', 'category', 'source', 'slug', 'review'), name='listing_offered'), models.Index(condition=models.Q(('vanished_at', None), _negated=True), fields=['id'], name='listing_vanished'), models.Index(condition=models.Q(('review__in', ('clear', 'approved')), _negated=True), fields=['review', 'id'], name='listing_not_passed')],
                    'constraints': [models.UniqueConstraint(fields=('source', 'key'), name='one_listing_of_a_key')],
                },
            ),
            migrations.CreateModel(
                name='SentCall',
                fields=[
                    ('call_id', models.UUIDField(primary_key=True, serialize=False)),
                    ('ended_at', models.DateTimeField(db_index=True)),
                ],
                options={
                    'ordering': ['ended_at', 'pk'],
                    'default_permissions': (),
                    'indexes': [],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='Addition',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('attempts', models.PositiveSmallIntegerField(default=0)),
                    ('sent_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    ('public_id', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                    ('what', models.CharField(choices=[('address', 'Address'), ('api', 'HTTP API'), ('server', 'MCP server'), ('package', 'Package'), ('program', 'Program')], max_length=8)),
                    ('name', models.CharField(blank=True, help_text='As the person calls it.', max_length=100)),
                    ('address', models.CharField(blank=True, help_text='The pasted address.', max_length=500)),
                    ('api_address', models.CharField(blank=True, help_text='Of the API, if its document says none.', max_length=500)),
                    ('document', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to='catalog.apidocument')),
                    ('state', models.CharField(choices=[('looking', 'Looking'), ('ready', 'Ready'), ('failed', 'Failed')], default='looking', max_length=8)),
                    ('reason', models.CharField(blank=True, help_text='Why it failed, for machines.', max_length=32)),
                    ('message', models.TextField(blank=True, help_text='What it is, or why it cannot be added.')),
                    ('listing', models.CharField(blank=True, help_text='The listing that it became.', max_length=200)),
                    ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'ordering': ['-created_at', '-pk'],
                    'indexes': [],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='AuditAnchor',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('number', models.BigIntegerField(default=0)),
                    ('noted_at', models.DateTimeField(null=True)),
                    ('failure', models.CharField(blank=True, default='', max_length=200)),
                ],
                options={
                    'default_permissions': (),
                    'constraints': [models.CheckConstraint(condition=models.Q(('pk', 1)), name='marketplace_auditanchor_one')],
                    'indexes': [],
                },
            ),
            migrations.CreateModel(
                name='EventLogState',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('audit_number', models.BigIntegerField(default=0, help_text='Of the last entry that was sent.')),
                    ('calls_until', models.DateTimeField(default=django.utils.timezone.now, help_text='When the last call ended that was sent.')),
                    ('sent_at', models.DateTimeField(null=True)),
                    ('failure', models.CharField(blank=True, default='', max_length=200)),
                ],
                options={
                    'default_permissions': (),
                    'constraints': [models.CheckConstraint(condition=models.Q(('pk', 1)), name='marketplace_eventlogstate_one')],
                    'indexes': [],
                },
            ),
            migrations.CreateModel(
                name='Installation',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('attempts', models.PositiveSmallIntegerField(default=0)),
                    ('sent_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    ('public_id', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                    ('integration', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='installations', to='catalog.integration')),
                    ('kind', models.CharField(choices=[('install', 'Install'), ('update', 'Update'), ('roll_back', 'roll back')], default='install', max_length=9)),
                    ('descriptor', models.JSONField(default=dict, help_text='What is installed, as it was confirmed.')),
                    ('constraints', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=200), blank=True, default=list, help_text='Bounds on what its package needs, such as name<2.', size=None)),
                    ('state', models.CharField(choices=[('configure', 'Configure'), ('queued', 'Queued'), ('needs_secret', 'Needs a secret'), ('fetching', 'Fetching'), ('checking', 'Checking'), ('connecting', 'Connecting'), ('listing', 'Listing'), ('storing', 'Storing'), ('embedding', 'Embedding'), ('needs_approval', 'needs approval'), ('ready', 'Ready'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='queued', max_length=16)),
                    ('reason', models.CharField(blank=True, help_text='Why it failed, for machines.', max_length=32)),
                    ('message', models.TextField(blank=True, help_text='How it stands, in words that say what to do.')),
                    ('command_digest', models.CharField(blank=True, help_text='What was shown and confirmed; nothing else starts.', max_length=64)),
                    ('offered', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=200), blank=True, default=list, help_text='Bounds that may help, after it crashed.', size=None)),
                    ('place', models.CharField(blank=True, help_text='The folder of its package.', max_length=36)),
                    ('package', models.JSONField(blank=True, default=dict, help_text='How the package was installed.')),
                    ('tools', acl.platform.stored_json.OrderedJSONField(blank=True, default=list, help_text='What the server says it has.')),
                    ('changes', models.JSONField(blank=True, default=list, help_text='How that differs from what is installed.')),
                    ('approved_tools', models.CharField(blank=True, help_text='Digest of what was seen.', max_length=64)),
                    ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('approved_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('idempotency_key', models.CharField(blank=True, max_length=255)),
                    ('request_digest', models.CharField(blank=True, help_text='Of what was asked for.', max_length=64)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('updated_at', models.DateTimeField(auto_now=True)),
                    ('groups', models.ManyToManyField(blank=True, related_name='+', to='auth.group')),
                    ('spaces', models.ManyToManyField(blank=True, related_name='+', to='acl.space')),
                ],
                options={
                    'ordering': ['-created_at', '-pk'],
                    'permissions': [('install_stdio', 'Can install servers that run programs on this machine')],
                    'constraints': [models.CheckConstraint(condition=models.Q(django.db.models.lookups.IsNull(acl.platform.stored_json.AsJsonb(models.F('tools')), False), ('tools__isnull', True), _connector='OR'), name='tools_are_plain'), models.UniqueConstraint(condition=models.Q(('state__in', ('configure', 'queued', 'fetching', 'checking', 'connecting', 'listing', 'storing', 'embedding', 'needs_approval'))), fields=('integration',), name='one_installation_at_once'), models.UniqueConstraint(condition=models.Q(('idempotency_key', ''), _negated=True), fields=('by', 'idempotency_key'), name='one_installation_of_a_key')],
                    'indexes': [],
                },
            ),
            migrations.CreateModel(
                name='InstallationEvent',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('installation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='marketplace.installation')),
                    ('state', models.CharField(choices=[('configure', 'Configure'), ('queued', 'Queued'), ('needs_secret', 'Needs a secret'), ('fetching', 'Fetching'), ('checking', 'Checking'), ('connecting', 'Connecting'), ('listing', 'Listing'), ('storing', 'Storing'), ('embedding', 'Embedding'), ('needs_approval', 'needs approval'), ('ready', 'Ready'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], max_length=16)),
                    ('message', models.TextField(blank=True)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'ordering': ['pk'],
                    'indexes': [],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='ListingWords',
                fields=[
                    ('listing', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='words', serialize=False, to='marketplace.listing')),
                    ('terms', pgvector.django.sparsevec.SparseVectorField(dimensions=262144)),
                    ('of', models.DateTimeField(help_text="The listing's `updated_at` when it was read.")),
                ],
                options={
                    'indexes': [],
                    'constraints': [],
                },
            ),
            migrations.CreateModel(
                name='ListingFile',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('listing', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='files', to='marketplace.listing')),
                    ('path', models.CharField(help_text='Within the folder, with /.', max_length=300)),
                    ('content', models.BinaryField()),
                ],
                options={
                    'ordering': ['path', 'pk'],
                    'constraints': [models.UniqueConstraint(fields=('listing', 'path'), name='one_file_of_a_path')],
                    'indexes': [],
                },
            ),
            migrations.CreateModel(
                name='ListingVector',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('listing', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='vectors', to='marketplace.listing')),
                    ('model', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='catalog.embeddingmodel')),
                    ('text_hash', models.CharField(help_text='Of the text as it is now.', max_length=64)),
                    ('vector', pgvector.django.halfvec.HalfVectorField(null=True)),
                    ('signs', models.GeneratedField(db_persist=True, expression=models.Func(models.F('vector'), function='binary_quantize'), output_field=marketplace.models.listing.SignsField())),
                    ('vector_hash', models.CharField(blank=True, help_text='Of the text embedded.', max_length=64)),
                    ('attempts', models.PositiveSmallIntegerField(default=0)),
                    ('failure', models.CharField(blank=True, max_length=300)),
                    ('sent_at', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'indexes': [models.Index(condition=models.Q(('vector_hash', models.F('text_hash')), _negated=True), fields=['sent_at'], name='listing_vector_pending'), models.Index(condition=models.Q(('vector__isnull', False)), fields=['model', 'listing'], include=('signs',), name='listing_vector_signs')],
                    'constraints': [models.UniqueConstraint(fields=('listing', 'model'), name='one_vector_of_a_listing')],
                },
            ),
            migrations.CreateModel(
                name='ListingVersion',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('listing', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='marketplace.listing')),
                    ('version', models.CharField(blank=True, max_length=80)),
                    ('descriptor', models.JSONField(help_text='The fields of an IntegrationDescriptor.')),
                    ('status', models.CharField(choices=[('active', 'Active'), ('deprecated', 'Deprecated'), ('deleted', 'Deleted')], default='active', max_length=10)),
                    ('is_latest', models.BooleanField(default=False)),
                    ('published_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['-is_latest', '-published_at', '-pk'],
                    'constraints': [models.UniqueConstraint(fields=('listing', 'version'), name='one_row_of_a_version')],
                    'indexes': [],
                },
            ),
            migrations.CreateModel(
                name='NotificationChannel',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('group', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='auth.group')),
                    ('kind', models.CharField(choices=[('mail', 'Mail'), ('slack', 'Slack'), ('teams', 'Microsoft Teams'), ('webhook', 'Webhook')], max_length=7)),
                    ('topics', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('approvals', 'Calls that wait for approval'), ('requests', 'Access requests'), ('failures', 'Failing integrations'), ('alerts', 'Alerts'), ('reviews', 'Definitions to review'), ('answers', 'Answers to your requests and calls')], max_length=9), size=None)),
                    ('mail_to', models.EmailField(blank=True, help_text="Of an admins' channel; else the owner's.", max_length=254)),
                    ('host', models.CharField(blank=True, help_text='Of the address, for display.', max_length=253)),
                    ('sealed_address', models.BinaryField(default=b'')),
                    ('sealed_secret', models.BinaryField(default=b'', help_text='It signs webhooks.')),
                    ('origin', models.CharField(help_text='Where links in messages lead.', max_length=300)),
                    ('with_arguments', models.BooleanField(default=False)),
                    ('paused', models.BooleanField(default=False)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'ordering': ['pk'],
                    'constraints': [models.CheckConstraint(condition=models.Q(('owner', None), models.Q(('group', None), ('mail_to', ''), ('with_arguments', False)), _connector='OR'), name='notification_channel_of_one'), models.CheckConstraint(condition=models.Q(('kind', 'mail'), models.Q(('sealed_address', b''), _negated=True), _connector='OR'), name='notification_channel_has_address')],
                    'indexes': [],
                },
            ),
            migrations.CreateModel(
                name='NotificationDelivery',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('public_id', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                    ('channel', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='marketplace.notificationchannel')),
                    ('event', models.CharField(help_text='What happened; each is told once.', max_length=160)),
                    ('topic', models.CharField(max_length=9)),
                    ('content', models.JSONField(default=dict)),
                    ('state', models.CharField(choices=[('pending', 'pending'), ('delivered', 'delivered'), ('failed', 'failed'), ('dropped', 'dropped')], default='pending', max_length=9)),
                    ('attempts', models.PositiveSmallIntegerField(default=0)),
                    ('due_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    ('status', models.PositiveSmallIntegerField(help_text='Of the last answer.', null=True)),
                    ('message', models.CharField(blank=True, max_length=300)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('ended_at', models.DateTimeField(null=True)),
                ],
                options={
                    'verbose_name_plural': 'notification deliveries',
                    'ordering': ['-created_at', '-pk'],
                    'indexes': [models.Index(condition=models.Q(('state', 'pending')), fields=['due_at'], name='notification_due')],
                    'constraints': [models.UniqueConstraint(fields=('channel', 'event'), name='notification_told_once'), models.CheckConstraint(condition=models.Q(models.Q(('ended_at', None), ('state', 'pending')), models.Q(models.Q(('state', 'pending'), _negated=True), ('ended_at__isnull', False)), _connector='OR'), name='notification_ended')],
                },
            ),
            migrations.CreateModel(
                name='Source',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('attempts', models.PositiveSmallIntegerField(default=0)),
                    ('sent_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    ('slug', models.CharField(max_length=48, unique=True, validators=[django.core.validators.RegexValidator('^[a-z0-9][a-z0-9_-]*$')])),
                    ('title', models.CharField(max_length=200)),
                    ('kind', models.CharField(choices=[('starter', 'Comes with Pegboard'), ('registry', 'MCP registry'), ('docker', 'Docker catalogue'), ('skills', 'Folder of skills'), ('plugins', 'Plugin marketplace'), ('mcp_json', 'Client configuration (mcpServers)'), ('import', 'Loaded by a command'), ('added', 'Added by an admin')], max_length=10)),
                    ('location', models.CharField(blank=True, help_text='An https address, or a path on this machine.', max_length=500)),
                    ('enabled', models.BooleanField(default=True)),
                    ('schedule_hours', models.PositiveSmallIntegerField(default=24, help_text='0: only by hand.', validators=[django.core.validators.MaxValueValidator(8760)])),
                    ('state', models.CharField(choices=[('new', 'never read'), ('queued', 'waits for a worker'), ('refreshing', 'is being read'), ('ready', 'Ready'), ('failed', 'Failed')], default='new', max_length=10)),
                    ('run', models.PositiveIntegerField(default=0, help_text='How often it was begun to be read.')),
                    ('done', models.PositiveIntegerField(default=0)),
                    ('total', models.PositiveIntegerField(blank=True, null=True)),
                    ('reason', models.CharField(blank=True, help_text='Why it failed, for machines.', max_length=32)),
                    ('message', models.TextField(blank=True, help_text='How it stands, in words.')),
                    ('report', models.JSONField(blank=True, default=dict, help_text='What the last reading found.')),
                    ('etag', models.CharField(blank=True, max_length=200)),
                    ('last_modified', models.CharField(blank=True, max_length=80)),
                    ('tried_at', models.DateTimeField(blank=True, null=True)),
                    ('refreshed_at', models.DateTimeField(blank=True, null=True)),
                    ('by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'ordering': ['title', 'pk'],
                    'indexes': [],
                    'constraints': [],
                },
            ),
        ]),
        migrations.RunSQL(SCANNED_LISTINGS, NO_SCANNED_LISTINGS),
    ]
