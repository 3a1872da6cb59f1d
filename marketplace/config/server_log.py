"""gunicorn's log, in the format of the application's."""

import os
from logging.config import dictConfig
from typing import Any

from gunicorn.glogging import Logger

from marketplace.config.logs import logging_config


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
