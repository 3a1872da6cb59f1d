"""Registration: every new or changed definition is reviewed and stored here."""

__all__ = [
    "admin_corrections",
    "admission",
    "catalog_rebuild",
    "definition_review",
    "descriptor_rows",
    "integration_identity",
    "manifest_reload",
    "manifest_watcher",
    "register",
    "scratch_catalog",
]
