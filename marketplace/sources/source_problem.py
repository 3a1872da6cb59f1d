"""Why a source could not be read, in words that say what to do."""


class SourceProblemError(Exception):
    """The source as a whole; `reason` is for machines."""

    def __init__(self, reason: str, words: str) -> None:
        super().__init__(words)
        self.reason = reason


class NotModifiedError(Exception):
    """It is what it was at the last reading."""


class LocationNotAllowedError(Exception):
    """A path that is below no folder which the operator has opened, or is none."""

    code = "location_not_allowed"

    def __init__(self) -> None:
        super().__init__(
            "A path on this machine must be below a folder that PEGBOARD_SOURCE_DIRS names."
        )
