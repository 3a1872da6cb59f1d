"""What one server may cost."""

from dataclasses import dataclass

KB = 1024
MB = 1024 * KB


@dataclass(frozen=True, slots=True)
class Limits:
    """Every bound that a server meets; tests shorten the times."""

    connect_seconds: float = 30.0
    list_seconds: float = 30.0
    call_seconds: float = 60.0
    # A server ends by itself when its input is closed; then it is asked, then it is killed.
    goodbye_seconds: float = 1.0
    line_bytes: int = 1 * MB
    body_bytes: int = 5 * MB
    pages: int = 50
    tools: int = 1_000
    # What nobody asked for, in a minute: notifications, requests to us, answers to nothing.
    unasked_messages: int = 1_000
    unasked_bytes: int = 10 * MB
    # Lines that are no messages: some servers greet on the wrong stream.
    garbage_lines: int = 20
    last_words_bytes: int = 4 * KB
    # Of the whole tree of processes; not by RLIMIT_AS, under which Node does not start.
    memory_bytes: int = 1024 * MB
    processes: int = 64
    cpu_seconds: int = 3_600
    file_bytes: int = 1024 * MB
    open_files: int = 1_024


DEFAULT_LIMITS = Limits()
