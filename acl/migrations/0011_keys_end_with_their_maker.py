import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("acl", "0010_groups_of_keys")]

    operations = [
        migrations.AlterField(
            model_name="apikey",
            name="made_with",
            field=models.ForeignKey(
                editable=False,
                help_text="The key that it was made with, and that it does not outlive.",
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="made",
                to="acl.apikey",
            ),
        ),
    ]
