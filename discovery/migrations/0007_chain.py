"""Keep the chain of each call, turn and outcome: actor, credential, subject."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# A retry across the update is still the same call. Which admin asked in a session is not known.
KNOWN = """
UPDATE discovery_call c SET credential = 'key', key_id = k.id, key_name = k.name, actor_id = k.owner_id,
  actor_kind = CASE WHEN k.owner_id IS NULL THEN 'key'
    WHEN EXISTS (SELECT FROM acl_serviceaccount s WHERE s.user_id = k.owner_id) THEN 'service_account'
    ELSE 'person' END
FROM acl_apikey k WHERE c.key_prefix <> '' AND k.prefix = c.key_prefix
  AND NOT EXISTS (SELECT FROM acl_apikey o WHERE o.prefix = k.prefix AND o.id <> k.id);
UPDATE discovery_call SET credential = 'session', actor_kind = 'person' WHERE key_prefix = '';
"""
# Nobody could be told whether the approver is who asked.
CANCEL = """
UPDATE discovery_call SET state = 'cancelled', ended_at = now(), reason = 'asker_unknown',
  message = 'It was asked for before Pegboard kept who asks. Nothing has been run: ask again.'
WHERE state = 'waiting_approval' AND actor_id IS NULL AND key_id IS NULL
"""


class Migration(migrations.Migration):

    dependencies = [
        ('acl', '0009_chain'),
        ('auth', '0012_alter_user_first_name_max_length'),
        ('catalog', '0012_revocations'),
        ('discovery', '0006_first_run'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='call',
            name='discovery_one_call_of_a_key',
        ),
        migrations.AddField(
            model_name='call',
            name='actor',
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, help_text='The person or service account that acted. Empty for a key without an owner.', null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='call',
            name='actor_kind',
            field=models.CharField(blank=True, choices=[('person', 'person'), ('service_account', 'service_account'), ('key', 'key'), ('operator', 'operator'), ('system', 'system')], db_default='', default='', max_length=16),
        ),
        migrations.AddField(
            model_name='call',
            name='credential',
            field=models.CharField(blank=True, choices=[('session', 'session'), ('key', 'key'), ('', '')], db_default='', default='', max_length=8),
        ),
        migrations.AddField(
            model_name='call',
            name='decided_credential',
            field=models.CharField(blank=True, db_default='', default='', max_length=8),
        ),
        migrations.AddField(
            model_name='call',
            name='decided_key_name',
            field=models.CharField(blank=True, db_default='', default='', max_length=120),
        ),
        migrations.AddField(
            model_name='call',
            name='decided_key_prefix',
            field=models.CharField(blank=True, db_default='', default='', max_length=12),
        ),
        migrations.AddField(
            model_name='call',
            name='key',
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='acl.apikey'),
        ),
        migrations.AddField(
            model_name='call',
            name='key_name',
            field=models.CharField(blank=True, db_default='', default='', max_length=120),
        ),
        migrations.AddField(
            model_name='outcome',
            name='actor',
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, help_text='The person or service account that acted. Empty for a key without an owner.', null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='outcome',
            name='actor_kind',
            field=models.CharField(blank=True, choices=[('person', 'person'), ('service_account', 'service_account'), ('key', 'key'), ('operator', 'operator'), ('system', 'system')], db_default='', default='', max_length=16),
        ),
        migrations.AddField(
            model_name='outcome',
            name='credential',
            field=models.CharField(blank=True, choices=[('session', 'session'), ('key', 'key'), ('', '')], db_default='', default='', max_length=8),
        ),
        migrations.AddField(
            model_name='outcome',
            name='key',
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='acl.apikey'),
        ),
        migrations.AddField(
            model_name='outcome',
            name='key_name',
            field=models.CharField(blank=True, db_default='', default='', max_length=120),
        ),
        migrations.AddField(
            model_name='outcome',
            name='key_prefix',
            field=models.CharField(blank=True, db_default='', default='', max_length=12),
        ),
        migrations.AddField(
            model_name='turn',
            name='actor',
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, help_text='The person or service account that acted. Empty for a key without an owner.', null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='turn',
            name='actor_kind',
            field=models.CharField(blank=True, choices=[('person', 'person'), ('service_account', 'service_account'), ('key', 'key'), ('operator', 'operator'), ('system', 'system')], db_default='', default='', max_length=16),
        ),
        migrations.AddField(
            model_name='turn',
            name='credential',
            field=models.CharField(blank=True, choices=[('session', 'session'), ('key', 'key'), ('', '')], db_default='', default='', max_length=8),
        ),
        migrations.AddField(
            model_name='turn',
            name='key',
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='acl.apikey'),
        ),
        migrations.AddField(
            model_name='turn',
            name='key_name',
            field=models.CharField(blank=True, db_default='', default='', max_length=120),
        ),
        migrations.AddField(
            model_name='turn',
            name='key_prefix',
            field=models.CharField(blank=True, db_default='', default='', max_length=12),
        ),
        migrations.AlterField(
            model_name='call',
            name='key_prefix',
            field=models.CharField(blank=True, db_default='', default='', max_length=12),
        ),
        migrations.AddIndex(
            model_name='call',
            index=models.Index(condition=models.Q(('credential', 'session'), models.Q(('actor', models.F('user')), _negated=True)), fields=['user', '-created_at'], name='discovery_call_by_others'),
        ),
        migrations.AddConstraint(
            model_name='call',
            constraint=models.UniqueConstraint(condition=models.Q(('idempotency_key', ''), _negated=True), fields=('user', 'group', 'actor', 'credential', 'idempotency_key'), name='discovery_one_call_of_a_key', nulls_distinct=False),
        ),
        migrations.RunSQL(KNOWN, migrations.RunSQL.noop),
        migrations.RunSQL(CANCEL, migrations.RunSQL.noop),
    ]
