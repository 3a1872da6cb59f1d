"""Logs: one line is one JSON object, so that nothing in a name can forge a second line."""

import re
from typing import Any

import structlog

# Everything a terminal or a reader of lines may act on: C0, C1, and Unicode's own line ends.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
# These bring handlers of their own, with text that nothing escapes.
_HANDED_ON = ("gunicorn.access", "gunicorn.error")


def escape_texts(_: Any, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Every text but the traceback with its control characters written out."""
    return {
        key: _CONTROL.sub(lambda found: ascii(found[0])[1:-1], value)
        if isinstance(value, str) and key not in {"exception", "stack"}
        else value
        for key, value in event.items()
    }


def logging_config(level: str, style: str) -> dict[str, Any]:
    """The dictConfig for the standard library's loggers, rendered by structlog."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderers: list[structlog.typing.Processor] = (
        [structlog.processors.JSONRenderer()]
        if style == "json"
        else [escape_texts, structlog.dev.ConsoleRenderer(colors=False)]
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
            *renderers,
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
        }
        | {name: {"handlers": [], "propagate": True} for name in _HANDED_ON},
        "root": {"handlers": ["stderr"], "level": level},
    }
