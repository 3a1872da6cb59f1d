"""Logs: one line is one JSON object, so that nothing in a name can forge a second line."""

import re
from typing import Any

import structlog

# Everything a terminal or a reader of lines may act on: C0, C1, and Unicode's own line ends.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_TRACEBACKS = {"exception", "stack"}
# A server or a client may send a megabyte, and log collectors drop or split longer lines.
LONGEST_TEXT = 8_000
# These bring handlers of their own, with text that nothing escapes.
_HANDED_ON = ("gunicorn.access", "gunicorn.error")


def escape_texts(_: Any, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Write out the control characters of every text. Only tracebacks keep their line feeds."""
    return {
        key: _escape(value, kept="\n" if key in _TRACEBACKS else "")
        if isinstance(value, str)
        else value
        for key, value in event.items()
    }


def shorten_texts(_: Any, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Cut the middle out of every text that is too long, so that one line stays one line."""
    return {
        key: _shorten(value) if isinstance(value, str) else value for key, value in event.items()
    }


def _escape(text: str, *, kept: str) -> str:
    return _CONTROL.sub(lambda f: f[0] if f[0] in kept else ascii(f[0])[1:-1], text)


def _shorten(text: str) -> str:
    left_out = len(text) - LONGEST_TEXT
    if left_out <= 0:
        return text
    half = LONGEST_TEXT // 2
    return f"{text[:half]} … {left_out} characters left out … {text[-half:]}"


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
            shorten_texts,
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
