"""Registration: the single path on which new and changed definitions are reviewed and stored."""

__all__ = [
    "admin_corrections",
    "admission",
    "catalog_rebuild",
    "category_assignment",
    "definition_comparison",
    "definition_review",
    "descriptor_rows",
    "hanging_rows",
    "integration_identity",
    "manifest_reload",
    "manifest_watcher",
    "register",
    "scratch_catalog",
    "tool_renames",
]
