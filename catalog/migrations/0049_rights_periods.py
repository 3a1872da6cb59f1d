"""Periods of the catalogue's rights, and of all that is there when the record begins."""

from django.db import migrations

from acl.models import RightsPeriod
from acl.models.rights_change import KEEPER
from acl.platform.migration_operations import DatabaseTrigger
from catalog.models import (
    Capability,
    CapabilityGroupPermission,
    CapabilityUserPermission,
    Integration,
    IntegrationGroupPermission,
    IntegrationUserPermission,
    Rule,
    RuntimeCapability,
)

OWN = [
    # Integrations get their owner by 0052, and these triggers anew.
    trigger._replace(
        each=trigger.each.replace(" OR old.owner_id IS DISTINCT FROM new.owner_id", ""),
        arguments=trigger.arguments.replace(", 'owner_id'", ""),
    )
    if trigger.table == "catalog_integration"
    else trigger
    for model in (
        *(Capability, CapabilityGroupPermission, CapabilityUserPermission, Integration),
        *(IntegrationGroupPermission, IntegrationUserPermission, Rule, RuntimeCapability),
    )
    for trigger in model.triggers
    if trigger.function == KEEPER
]


def begin(trigger: DatabaseTrigger) -> str:
    """Return the statement that opens a period for each row that is there."""
    facts = ", ".join(f"{column}, r.{column[1:-1]}" for column in trigger.arguments.split(", "))
    return (
        'INSERT INTO acl_rightsperiod ("table", key, facts, began)'
        f" SELECT '{trigger.table}', r.id, jsonb_build_object({facts}), now()"
        f' FROM {trigger.table} r WHERE NOT EXISTS (SELECT FROM acl_rightsperiod p'
        f" WHERE p.\"table\" = '{trigger.table}' AND p.key = r.id AND p.ended IS NULL)"
    )


MARK = """INSERT INTO acl_rightsperiod ("table", key, facts, began) VALUES ('', 0, '{}', now())"""


class Migration(migrations.Migration):

    dependencies = [
        ("acl", "0022_rights_periods"),
        ("catalog", "0048_kept_call_limits"),
    ]

    operations = [
        *(migrations.RunSQL(trigger.create_sql(), trigger.drop_sql()) for trigger in OWN),
        *(
            migrations.RunSQL(begin(trigger), migrations.RunSQL.noop)
            for trigger in (*RightsPeriod.triggers, *OWN)
            if trigger.when == "AFTER INSERT"
        ),
        migrations.RunSQL(MARK, migrations.RunSQL.noop),
    ]
