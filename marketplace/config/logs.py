"""Structured logs: each line is a JSON object, so that no value can forge another line."""

import os
import re
from logging.config import dictConfig
from typing import Any

import structlog
from gunicorn.glogging import Logger

from acl.actor import current_context
from catalog.formats.secret_redaction import word_addresses

# Characters that terminals or line readers act on: C0, C1, and Unicode line separators.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_TRACEBACKS = {"exception", "stack"}
# Log collectors drop or split long lines, and servers or clients may send a megabyte.
LONGEST_TEXT = 8_000
# These loggers have handlers of their own, which escape nothing.
_HANDED_ON = ("gunicorn.access", "gunicorn.error")


def add_request_id(
    _: Any, __: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """Add the id of the request that is being answered."""
    request_id = current_context().request_id
    return {"request_id": request_id, **event} if request_id else event


def escape_texts(_: Any, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Escape control characters in every text. Tracebacks keep their line feeds."""
    return {
        key: _escape(value, allowed="\n" if key in _TRACEBACKS else "")
        if isinstance(value, str)
        else value
        for key, value in event.items()
    }


def word_texts(_: Any, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Word each address without its secrets, also in tracebacks."""
    return {
        key: word_addresses(value) if isinstance(value, str) else value
        for key, value in event.items()
    }


def shorten_texts(_: Any, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Shorten long texts by cutting out their middle."""
    return {
        key: _shorten(value) if isinstance(value, str) else value for key, value in event.items()
    }


def _escape(text: str, *, allowed: str) -> str:
    return _CONTROL.sub(lambda f: f[0] if f[0] in allowed else ascii(f[0])[1:-1], text)


def _shorten(text: str) -> str:
    left_out = len(text) - LONGEST_TEXT
    if left_out <= 0:
        return text
    half = LONGEST_TEXT // 2
    return f"{text[:half]} … {left_out} characters left out … {text[-half:]}"


def logging_config(level: str, style: str) -> dict[str, Any]:
    """Return the dictConfig: standard loggers, rendered by structlog."""
    shared: list[structlog.typing.Processor] = [
        add_request_id,
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
            word_texts,
            shorten_texts,
            *renderers,
        ],
    }
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"structured": formatter},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
        # These loggers write whole URLs and messages, including secrets and arguments.
        "loggers": {
            name: {"level": "CRITICAL"} for name in ("client", "httpcore2", "httpx2", "mcp")
        }
        | {name: {"handlers": [], "propagate": True} for name in _HANDED_ON},
        "root": {"handlers": ["stderr"], "level": level},
    }


# gunicorn's log, in the format of the application's.


class ServerLog(Logger):  # type: ignore[misc]
    """Uses our format from the first line on, before Django is loaded."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        # Not `logconfig_dict`, which would make gunicorn write an access log.
        get_variable = os.environ.get
        dictConfig(
            logging_config(
                get_variable("PEGBOARD_LOG_LEVEL", "INFO"),
                get_variable("PEGBOARD_LOG_FORMAT", "json"),
            )
        )
