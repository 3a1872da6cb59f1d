"""The provider of a chat model is a module of `chats/providers`, so the database lists none."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('discovery', '0023_call_limit'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='chatmodel',
            name='discovery_chatmodel_provider',
        ),
        migrations.AlterField(
            model_name='chatmodel',
            name='provider',
            field=models.CharField(help_text='A module of `chats/providers`.', max_length=20),
        ),
    ]
