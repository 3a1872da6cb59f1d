"""gunicorn's own log in the form of the application's, so that no address forges a line."""

import os
from logging.config import dictConfig
from typing import Any

from gunicorn.glogging import Logger

from marketplace.config.logs import logging_config


class ServerLog(Logger):  # type: ignore[misc]
    """Formats from the first line on; Django sets up the same once it is loaded."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        # Not `logconfig_dict`: gunicorn would write an access log wherever that is set.
        read = os.environ.get
        dictConfig(
            logging_config(read("PEGBOARD_LOG_LEVEL", "INFO"), read("PEGBOARD_LOG_FORMAT", "json"))
        )
