"""Keep the chain of each proposal: actor, credential, subject."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('acl', '0009_chain'),
        ('catalog', '0013_gate'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='serverproposal',
            name='actor',
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, help_text='The person or service account that acted. Empty for a key without an owner.', null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='serverproposal',
            name='actor_kind',
            field=models.CharField(blank=True, choices=[('person', 'person'), ('service_account', 'service_account'), ('key', 'key'), ('operator', 'operator'), ('system', 'system')], db_default='', default='', max_length=16),
        ),
        migrations.AddField(
            model_name='serverproposal',
            name='credential',
            field=models.CharField(blank=True, choices=[('session', 'session'), ('key', 'key'), ('', '')], db_default='', default='', max_length=8),
        ),
        migrations.AddField(
            model_name='serverproposal',
            name='key',
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='acl.apikey'),
        ),
        migrations.AddField(
            model_name='serverproposal',
            name='key_name',
            field=models.CharField(blank=True, db_default='', default='', max_length=120),
        ),
        migrations.AddField(
            model_name='serverproposal',
            name='key_prefix',
            field=models.CharField(blank=True, db_default='', default='', max_length=12),
        ),
    ]
