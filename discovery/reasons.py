"""Why a call came to nothing, beside the reasons that servers have."""

NOT_THERE = "not_there"  # no such tool, or none of the caller's: told alike
CHANGED = "changed"
TOOL_ERROR = "tool_error"
DISCONNECTED = "disconnected"
GAVE_UP = "gave_up"
NOT_BEGUN = "not_begun"
UNKNOWN_OUTCOME = (
    "Whether it was carried out is not known. It is not repeated: look before you ask again."
)
NOT_CONNECTED = "Its server is not connected. Nothing has been run."
