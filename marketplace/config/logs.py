"""Logs: one line is one JSON object, so that nothing in a name can forge a second line."""

from typing import Any

import structlog


def logging_config(level: str, style: str) -> dict[str, Any]:
    """The dictConfig for the standard library's loggers, rendered by structlog."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer = (
        structlog.processors.JSONRenderer()
        if style == "json"
        else structlog.dev.ConsoleRenderer(colors=False)
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    formatter = {
        "()": structlog.stdlib.ProcessorFormatter,
        "foreign_pre_chain": shared,
        "processors": [
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            renderer,
        ],
    }
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"structured": formatter},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
        # These tell whole addresses and messages, with the secrets and arguments inside them.
        "loggers": {
            name: {"level": "CRITICAL"} for name in ("client", "httpcore2", "httpx2", "mcp")
        },
        "root": {"handlers": ["stderr"], "level": level},
    }
