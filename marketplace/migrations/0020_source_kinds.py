"""The kind of a source is a module of `offers/kinds`, so the table lists none."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('marketplace', '0019_channel_kinds'),
    ]

    operations = [
        migrations.AlterField(
            model_name='source',
            name='kind',
            field=models.CharField(help_text='A module of `offers/kinds`.', max_length=20),
        ),
    ]
