"""APIs by their OpenAPI documents: the documents, and a kind of integration for them."""

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('catalog', '0024_cells'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name='integration',
            name='kind',
            field=models.CharField(choices=[('mcp', 'MCP server'), ('openapi', 'HTTP API'), ('skill', 'Skill'), ('extension', 'Extension'), ('channel', 'Channel'), ('voice', 'Voice'), ('manifest', 'Manifest'), ('builtin', 'Built-in'), ('catalog', 'Imported catalogue')], max_length=12),
        ),
        migrations.AlterField(
            model_name='integration',
            name='transport',
            field=models.CharField(blank=True, choices=[('stdio', 'stdio'), ('http', 'HTTP'), ('sse', 'SSE'), ('openapi', 'OpenAPI')], max_length=8),
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
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created_at', '-pk'],
            },
        ),
    ]
