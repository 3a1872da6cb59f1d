"""Changes of grants, rules, integrations, secrets and accounts, counted for the rights' version."""

from django.db import migrations

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


class Migration(migrations.Migration):

    dependencies = [
        ("acl", "0021_rights_version"),
        ("catalog", "0035_kept_policies"),
    ]

    operations = [
        migrations.RunSQL(trigger.create_sql(), trigger.drop_sql())
        for model in COUNTED
        for trigger in model.triggers
        if trigger.function in {"acl_count_rows", "acl_count_change"}
    ]
