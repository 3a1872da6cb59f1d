"""Installing: requests, the worker's steps, updates, rollback and removal."""

__all__ = [
    "api",
    "command_confirmation",
    "install_preparation",
    "install_requests",
    "install_state",
    "integration_management",
    "pages",
    "shown_connection",
    "tool_differences",
]
