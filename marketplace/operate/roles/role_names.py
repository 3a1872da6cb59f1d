"""Names of the roles, and what the application's role may do with each table."""

APP = "pegboard_app"  # web, workers, beat, watcher
OWNER = "pegboard_owner"  # migrations, backup, restore
AUDIT = "pegboard_audit"  # owns the audit log; nobody signs in as it
# An empty database with pgvector, made by a superuser: whoever may make databases can copy it.
TEMPLATE = "pegboard_template"

AUDIT_ENTRIES, AUDIT_HEAD = "acl_auditentry", "acl_audithead"
# Written by migrations alone.
READ_ONLY = ("auth_permission", "django_content_type", "django_migrations", AUDIT_HEAD)
# A large import refreshes their statistics at once (catalog/registration/register.py).
ANALYZED = (
    "catalog_integration",
    "catalog_capability",
    "catalog_lexicalvector",
    "catalog_embedding",
)
