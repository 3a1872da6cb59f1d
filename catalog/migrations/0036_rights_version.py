"""Changes of grants, rules, integrations, secrets and accounts, counted for the rights' version."""

from django.db import migrations

from acl.platform.migration_operations import DatabaseTrigger
from catalog.models import (
    CapabilityGroupPermission,
    CapabilityUserPermission,
    Integration,
    IntegrationGroupPermission,
    IntegrationUserPermission,
    OAuthConnection,
    Rule,
    Secret,
)

COUNTED = (
    CapabilityGroupPermission, CapabilityUserPermission, Integration, IntegrationGroupPermission,
    IntegrationUserPermission, OAuthConnection, Rule, Secret,
)


def without_owner(trigger: DatabaseTrigger) -> DatabaseTrigger:
    """Return the trigger as it was before integrations had an owner."""
    return trigger._replace(
        each=trigger.each.replace(" OR old.owner_id IS DISTINCT FROM new.owner_id", "")
    )


class Migration(migrations.Migration):

    dependencies = [
        ("acl", "0021_rights_version"),
        ("catalog", "0035_kept_policies"),
    ]

    # Those of integrations are created anew with their owner by 0052.
    operations = [
        migrations.RunSQL(without_owner(trigger).create_sql(), trigger.drop_sql())
        for model in COUNTED
        for trigger in model.triggers
        if trigger.function in {"acl_count_rows", "acl_count_change"}
    ]
