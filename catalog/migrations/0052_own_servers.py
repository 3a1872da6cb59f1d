"""Servers that people add for themselves: an owner, whom the record of rights keeps."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from acl.platform.migration_operations import DatabaseTrigger
from catalog.models import Integration

WITH_OWNER = [
    trigger
    for trigger in Integration.triggers
    if "owner_id" in trigger.each or "'owner_id'" in trigger.arguments
]


def as_before(trigger: DatabaseTrigger) -> DatabaseTrigger:
    """Return the trigger as it was before integrations had an owner."""
    return trigger._replace(
        each=trigger.each.replace(" OR old.owner_id IS DISTINCT FROM new.owner_id", ""),
        arguments=trigger.arguments.replace(", 'owner_id'", ""),
    )


class Migration(migrations.Migration):

    dependencies = [
        ("catalog", "0051_private_hosts"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="integration",
            name="owner",
            field=models.ForeignKey(blank=True, editable=False, help_text="Whose own server it is: nobody else may use it or learn of it, except admins.", null=True, on_delete=django.db.models.deletion.CASCADE, related_name="own_servers", to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddConstraint(
            model_name="integration",
            constraint=models.CheckConstraint(condition=models.Q(("owner", None), models.Q(("requestable", False), ("restricted", True)), _connector="OR"), name="own_server_is_for_its_owner"),
        ),
        *(
            migrations.RunSQL(
                trigger.drop_sql() + trigger.create_sql(),
                trigger.drop_sql() + as_before(trigger).create_sql(),
            )
            for trigger in WITH_OWNER
        ),
    ]
