from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0039_application_executes"),
    ]

    operations = [
        migrations.AlterField(
            model_name="capability",
            name="ai_access",
            field=models.CharField(
                choices=[
                    ("execute", "Execute"),
                    ("propose", "Propose"),
                    ("app", "Only its server's app"),
                    ("blocked", "Blocked"),
                ],
                default="execute",
                max_length=8,
            ),
        ),
    ]
