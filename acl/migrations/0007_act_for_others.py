"""A right of its own to act for other people."""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('acl', '0006_answers'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='apikey',
            options={'ordering': ['-created_at', 'pk'], 'permissions': [('act_for_others', 'Can act for other people')], 'verbose_name': 'API key'},
        ),
    ]
