"""Let a key work in several groups or in all of its person's, with the rank that it was given."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

KEEP_GROUPS = "INSERT INTO acl_apikey_groups (apikey_id, group_id) SELECT id, group_id FROM acl_apikey"
# Only scope admin uses a rank. What its owner has now is what such a key could do until now.
KEEP_RANKS = """
UPDATE acl_apikey k SET rank = CASE WHEN u.is_superuser THEN 2 ELSE 1 END
FROM auth_user u WHERE u.id = k.owner_id AND u.is_staff AND 'admin' = ANY (k.scopes)
"""
# Backwards, a key keeps one of its groups; one that has none cannot be kept.
KEEP_ONE_GROUP = """
UPDATE acl_apikey k SET group_id = COALESCE(
  (SELECT min(g.group_id) FROM acl_apikey_groups g WHERE g.apikey_id = k.id),
  (SELECT min(m.group_id) FROM auth_user_groups m WHERE m.user_id = k.owner_id));
DELETE FROM acl_apikey WHERE group_id IS NULL;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("acl", "0009_chain"),
        ("auth", "0012_alter_user_first_name_max_length"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="all_groups",
            field=models.BooleanField(
                default=False,
                help_text="It works in every group of the person that it acts for.",
            ),
        ),
        migrations.AddField(
            model_name="apikey",
            name="created_by",
            field=models.ForeignKey(
                editable=False,
                help_text="The person who made it, or who owned the key that did.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="apikey",
            name="made_with",
            field=models.ForeignKey(
                editable=False,
                help_text="The key that it was made with.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="made",
                to="acl.apikey",
            ),
        ),
        migrations.AddField(
            model_name="apikey",
            name="rank",
            field=models.PositiveSmallIntegerField(
                choices=[(0, "member"), (1, "admin"), (2, "superuser")],
                default=0,
                editable=False,
                help_text="Its owner's rank when it was made: the key never gets a higher one.",
            ),
        ),
        migrations.AlterField(
            model_name="apikey",
            name="group",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="auth.group",
            ),
        ),
        migrations.AddField(
            model_name="apikey",
            name="groups",
            field=models.ManyToManyField(
                blank=True,
                help_text="The groups that the key works in.",
                related_name="api_keys",
                to="auth.group",
            ),
        ),
        migrations.RunSQL(KEEP_GROUPS, KEEP_ONE_GROUP),
        migrations.RunSQL(KEEP_RANKS, migrations.RunSQL.noop),
        migrations.RemoveField(model_name="apikey", name="group"),
    ]
