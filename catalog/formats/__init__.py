"""Readers of every file format, and the cleaning, naming and limits that they share. All of them
return the same descriptors."""

__all__ = [
    "archive_members",
    "categories",
    "category_words",
    "descriptors",
    "entry",
    "files",
    "icon_choice",
    "icon_pixels",
    "loader",
    "manifest_folders",
    "mcpb",
    "mcpb_python",
    "names",
    "openapi",
    "package_names",
    "read_limits",
    "reader_program",
    "runtime",
    "secret_redaction",
    "side_effects",
    "skill",
    "source_folders",
    "text_cleanup",
    "tools_list",
]
