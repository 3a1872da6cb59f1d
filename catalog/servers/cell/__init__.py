"""Cells: programs of strangers run apart from Pegboard, by bubblewrap.

A cell has namespaces of its own, sees only the files that its program needs, and reaches only the
hosts that an admin allowed. `cell_entry` runs in the process guard, everything else in the process
that starts programs.
"""

__all__ = [
    "allowed_hosts",
    "cell_announcement",
    "cell_command",
    "cell_entry",
    "cell_plan",
    "cell_report",
    "cell_support",
    "control_groups",
    "egress_log",
    "egress_proxy",
    "file_owner",
    "landlock_entry",
    "seccomp_filter",
    "visible_files",
]
