"""Configuration: settings, URLs, Celery, logs, metrics and health."""
