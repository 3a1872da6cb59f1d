"""Reasons why calls fail or leave the queue, beside the reasons that servers give."""

NOT_THERE = "not_there"  # unknown tool or somebody else's: indistinguishable on purpose
CHANGED = "changed"
TOOL_ERROR = "tool_error"
DISCONNECTED = "disconnected"
NOT_BEGUN = "not_begun"
# Reasons for leaving the approval queue (`discovery/calls/approval_queue.py`), with their texts.
LEFT_QUEUE = {
    "user_deactivated": "The account of the person whom it was asked for is deactivated.",
    "left_group": "The person whom it was asked for has left the group.",
    "actor_deactivated": "The account of whoever asked is deactivated.",
    "acting_right_lost": "Whoever asked may not act for other people any more.",
    "key_revoked": "The key that asked is revoked, or its owner may not use it any more.",
    "changed": "The tool has changed since.",
    "right_lost": "The person whom it was asked for may not use the tool any more.",
}
UNKNOWN_OUTCOME = (
    "Whether it was carried out is not known. It is not repeated: look before you ask again."
)
NOT_CONNECTED = "Its server is not connected. Nothing has been run."
