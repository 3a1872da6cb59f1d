"""Additions: servers and documents pasted by admins, and the source of their listings."""

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('catalog', '0027_pasted_proposals'),
        ('marketplace', '0015_notifications'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name='source',
            name='kind',
            field=models.CharField(choices=[('starter', 'Comes with Pegboard'), ('registry', 'MCP registry'), ('docker', 'Docker catalogue'), ('skills', 'Folder of skills'), ('plugins', 'Plugin marketplace'), ('mcp_json', 'Client configuration (mcpServers)'), ('import', 'Loaded by a command'), ('added', 'Added by an admin')], max_length=10),
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
                ('state', models.CharField(choices=[('looking', 'Looking'), ('ready', 'Ready'), ('failed', 'Failed')], default='looking', max_length=8)),
                ('reason', models.CharField(blank=True, help_text='Why it failed, for machines.', max_length=32)),
                ('message', models.TextField(blank=True, help_text='What it is, or why it cannot be added.')),
                ('listing', models.CharField(blank=True, help_text='The listing that it became.', max_length=200)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('document', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to='catalog.apidocument')),
            ],
            options={
                'ordering': ['-created_at', '-pk'],
            },
        ),
    ]
