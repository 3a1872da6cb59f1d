import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('catalog', '0004_graph'),
    ]

    operations = [
        migrations.CreateModel(
            name='ManifestFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('path', models.CharField(max_length=1000, unique=True)),
                ('problems', models.TextField(blank=True, help_text='One a line: the field and the reason.')),
                ('changed_at', models.DateTimeField(auto_now=True, help_text='When any of this last changed.')),
                ('capability', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='manifest', to='catalog.capability')),
            ],
            options={
                'ordering': ['path'],
            },
        ),
    ]
