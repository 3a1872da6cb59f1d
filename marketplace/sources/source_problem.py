"""Errors of reading a source, with messages that say what to do."""

from django.utils.translation import gettext as _


class SourceProblemError(Exception):
    """The source as a whole cannot be read. `reason` is a code for machines."""

    def __init__(self, reason: str, words: str) -> None:
        super().__init__(words)
        self.reason = reason


class NotModifiedError(Exception):
    """The source did not change since the last reading."""


class LocationNotAllowedError(Exception):
    """Path that does not exist, or is not below a folder in PEGBOARD_SOURCE_DIRS."""

    code = "location_not_allowed"

    def __init__(self) -> None:
        super().__init__(
            _("A path on this machine must be below a folder that PEGBOARD_SOURCE_DIRS allows.")
        )
