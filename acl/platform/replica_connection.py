"""Connection to the read replica, as an entry of Django's DATABASES."""

from typing import Any

import dj_database_url

ALIAS = "replica"
# A server that hangs says nothing, and its kernel answers for it. Postgres's client waits no less
# than this for a connection.
PATIENCE_SECONDS = 2
_MILLISECONDS = PATIENCE_SECONDS * 1000


def replica_database(url: str, options: str) -> dict[str, Any]:
    """Return the entry for a URL; `options` are those of the primary's sessions."""
    # No health checks, which are a statement more: where a connection has ended, the primary
    # answers, and the next request opens another one.
    database: dict[str, Any] = dict(
        dj_database_url.parse(url, conn_max_age=600, disable_server_side_cursors=True)
    )
    database["OPTIONS"] = database.get("OPTIONS", {}) | {
        "options": f"{options} -c statement_timeout={_MILLISECONDS}",
        "prepare_threshold": 1_000_000,
        "connect_timeout": PATIENCE_SECONDS,
        "tcp_user_timeout": _MILLISECONDS,
    }
    database["TEST"] = {"MIRROR": "default"}
    return database
