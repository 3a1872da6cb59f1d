"""Integrations that were installed count as confirmed, imported ones do not.

Until now a server that came with an import was looked at by itself. Whatever reaches out and was
never installed waits for an admin from here on.
"""

from django.db import migrations

DECIDE = """
UPDATE catalog_integration i SET unconfirmed = true
WHERE i.transport <> ''
  AND NOT EXISTS (SELECT FROM marketplace_installation m WHERE m.integration_id = i.id);
UPDATE catalog_integration i
SET came_from = CASE WHEN i.listing <> '' THEN 'the listing ' || i.listing ELSE 'admin' END
WHERE EXISTS (SELECT FROM marketplace_installation m WHERE m.integration_id = i.id);
"""


class Migration(migrations.Migration):
    dependencies = [("marketplace", "0009_vector_signs"), ("catalog", "0013_gate")]

    operations = [migrations.RunSQL(DECIDE, migrations.RunSQL.noop)]
