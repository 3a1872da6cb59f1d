"""Embedded servers and programs of `make run`, and their supervisor."""

__all__ = [
    "cannot_run",
    "data_folder",
    "disk_guard",
    "embedded_postgres",
    "embedded_redis",
    "first_setup",
    "gunicorn_config",
    "key_cover",
    "part_states",
    "pegboard_programs",
    "supervisor",
    "text_catalogues",
]
