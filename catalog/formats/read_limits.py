"""How much of a source is read, counted in bytes unless the name says otherwise."""

from dataclasses import dataclass

KB = 1024
MB = 1024 * KB


@dataclass(frozen=True, slots=True)
class Limits:
    """Every cap that a source meets; a deployment may hand over its own."""

    file: int = 5 * MB
    manifest: int = 16 * KB
    yaml_events: int = 2_000
    yaml_depth: int = 20
    # A schema may be 32 deep; what is wrapped around it (an API page, a tools answer) needs some
    # more.
    json_depth: int = 64
    # Counted in characters: what a column of the catalogue holds.
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
    # One server may bring this many tools; a catalogue file has caps of its own.
    tools_per_server: int = 1_000
    entries_per_file: int = 10_000
    catalog_file: int = 256 * MB
    catalog_line: int = 1 * MB
    catalog_lines: int = 100_000
    folder_depth: int = 12
    folder_files: int = 20_000
    # Stops a file with a million faults from filling the memory with reports about them.
    defects_per_file: int = 1_000


DEFAULT_LIMITS = Limits()
