"""The application and the conversation of turns, calls, outcomes and requests to servers."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("acl", "0025_applications"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("catalog", "0051_private_hosts"),
        ("discovery", "0029_advice"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="call",
            name="application",
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name="+", to="acl.application"),
        ),
        migrations.AddField(
            model_name="call",
            name="conversation",
            field=models.CharField(blank=True, db_default="", default="", editable=False, help_text="The application's own name of the conversation, or its hash.", max_length=128),
        ),
        migrations.AddField(
            model_name="serverrequest",
            name="application",
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name="+", to="acl.application"),
        ),
        migrations.AddField(
            model_name="turn",
            name="application",
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name="+", to="acl.application"),
        ),
        migrations.AddField(
            model_name="outcome",
            name="application",
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name="+", to="acl.application"),
        ),
        migrations.AddField(
            model_name="turn",
            name="conversation",
            field=models.CharField(blank=True, db_default="", default="", editable=False, help_text="The application's own name of the conversation, or its hash.", max_length=128),
        ),
        migrations.AddIndex(
            model_name="call",
            index=models.Index(condition=models.Q(("application__isnull", False)), fields=["application", "-created_at"], name="discovery_call_of_app"),
        ),
        migrations.AddIndex(
            model_name="call",
            index=models.Index(condition=models.Q(("conversation", ""), _negated=True), fields=["conversation", "-created_at"], name="discovery_call_in_chat"),
        ),
        migrations.AddIndex(
            model_name="outcome",
            index=models.Index(condition=models.Q(("application__isnull", False)), fields=["application", "-id"], name="discovery_outcome_of_app"),
        ),
        migrations.AddIndex(
            model_name="turn",
            index=models.Index(condition=models.Q(("application__isnull", False)), fields=["application", "-created_at"], name="discovery_turn_of_app"),
        ),
        migrations.AddIndex(
            model_name="turn",
            index=models.Index(condition=models.Q(("conversation", ""), _negated=True), fields=["conversation", "-created_at"], name="discovery_turn_in_chat"),
        ),
    ]
