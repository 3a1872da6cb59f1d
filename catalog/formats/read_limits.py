"""Limits for reading sources, in bytes unless noted otherwise."""

from dataclasses import dataclass

KB = 1024
MB = 1024 * KB


@dataclass(frozen=True, slots=True)
class Limits:
    """All limits for one source; a deployment may pass its own."""

    file: int = 5 * MB
    manifest: int = 16 * KB
    yaml: int = 1 * MB  # of catalogues and configurations, which list more than one thing
    yaml_events: int = 2_000
    yaml_depth: int = 20
    # A schema may be 32 deep; the envelope around it (an API page, a tools answer) needs more.
    json_depth: int = 64
    # In characters: the lengths of the catalogue's columns.
    name: int = 200
    short_name: int = 60
    secret_name: int = 120
    version: int = 80
    reason: int = 300
    address: int = 500
    argument: int = 500
    description: int = 8 * KB
    content: int = 256 * KB
    schema: int = 64 * KB
    schema_depth: int = 32
    schema_nodes: int = 2_000
    list_items: int = 200
    # For one server; catalogue files have their own limits below.
    tools_per_server: int = 1_000
    entries_per_file: int = 10_000
    catalog_file: int = 256 * MB
    catalog_line: int = 1 * MB
    catalog_lines: int = 100_000
    folder_depth: int = 12
    folder_files: int = 20_000
    # A file with a million defects must not fill the memory with reports.
    defects_per_file: int = 1_000


DEFAULT_LIMITS = Limits()
