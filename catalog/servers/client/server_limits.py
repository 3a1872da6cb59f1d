"""Resource limits of one server."""

from dataclasses import dataclass

KB = 1024
MB = 1024 * KB


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """All limits of one server; tests shorten the times."""

    connect_seconds: float = 30.0
    list_seconds: float = 30.0
    call_seconds: float = 60.0
    # Wait after closing its input, again after SIGTERM, and then kill it.
    goodbye_seconds: float = 1.0
    line_bytes: int = 1 * MB
    body_bytes: int = 5 * MB
    pages: int = 50
    tools: int = 1_000
    # Unsolicited messages per minute: notifications, requests to us, responses to no request.
    unsolicited_messages: int = 1_000
    unsolicited_bytes: int = 10 * MB
    # Lines that are no messages, per minute: some servers print a banner to stdout.
    garbage_lines: int = 20
    last_words_bytes: int = 4 * KB
    # For the whole process tree. Not by RLIMIT_AS, because Node does not start under it.
    memory_bytes: int = 1024 * MB
    processes: int = 64
    cpu_seconds: int = 3_600
    # At once, where the kernel limits it (`control_groups`).
    cpu_cores: float = 2.0
    file_bytes: int = 1024 * MB
    open_files: int = 1_024
    # In a cell: what its lasting folder may hold.
    disk_bytes: int = 512 * MB


DEFAULT_LIMITS = ServerLimits()
