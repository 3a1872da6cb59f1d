"""Proposals of what is no address: a package, a command, a configuration."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('acl', '0013_registered_clients'),
        ('auth', '0012_alter_user_first_name_max_length'),
        ('catalog', '0026_failures'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='serverproposal',
            name='one_open_proposal_each',
        ),
        migrations.AddField(
            model_name='serverproposal',
            name='wanted',
            field=models.TextField(blank=True, db_default='', default='', help_text='What was pasted, if it is no address: a package, a command, a configuration.'),
        ),
        migrations.AlterField(
            model_name='serverproposal',
            name='endpoint',
            field=models.CharField(blank=True, max_length=500),
        ),
        migrations.AddConstraint(
            model_name='serverproposal',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'open')), fields=('group', 'endpoint', 'wanted'), name='one_open_proposal_each'),
        ),
    ]
