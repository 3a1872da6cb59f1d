"""Names of the database roles, and of tables with special rights."""

APP = "pegboard_app"  # web, workers, beat, watcher
OWNER = "pegboard_owner"  # migrations, backup, restore
AUDIT = "pegboard_audit"  # owns the audit log; has no login
# An empty database with pgvector, made by a superuser, for roles that may create databases.
TEMPLATE = "pegboard_template"

AUDIT_ENTRIES, AUDIT_HEAD = "acl_auditentry", "acl_audithead"
AUDIT_ARCHIVE = "acl_auditarchive"  # written by the owner's command only
# Written by migrations and triggers only.
READ_ONLY = (
    "auth_permission",
    "django_content_type",
    "django_migrations",
    AUDIT_HEAD,
    AUDIT_ARCHIVE,
    "acl_rightsperiod",
)
# Large imports refresh the statistics of these tables (catalog/registration/register.py).
ANALYZED = (
    "catalog_integration",
    "catalog_capability",
    "catalog_lexicalvector",
    "catalog_embedding",
)
