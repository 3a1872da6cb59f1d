"""Short labels of the reason codes of calls, for pages."""

from django.utils.translation import gettext, gettext_noop

from acl.platform.jobs.job_rows import GAVE_UP
from catalog.servers.client.problem_labels import label_problem
from discovery.calls.call_state import (
    DISCONNECTED,
    FLOW_REFUSED,
    NOT_BEGUN,
    NOT_THERE,
    STOPPED_BY_CLIENT,
    TOOL_ERROR,
)

# What no server causes; `label_problem` has the others.
LABELS = {
    NOT_THERE: gettext_noop("Unavailable tool"),
    TOOL_ERROR: gettext_noop("Error of the tool"),
    DISCONNECTED: gettext_noop("Not connected"),
    NOT_BEGUN: gettext_noop("Expired"),
    GAVE_UP: gettext_noop("Crashed the worker"),
    FLOW_REFUSED: gettext_noop("Refused by the guard on flows"),
    STOPPED_BY_CLIENT: gettext_noop("Cancelled by the client"),
    "needs_approval": gettext_noop("Approval needed"),
    "secret_unavailable": gettext_noop("Unreadable secret"),
    "user_deactivated": gettext_noop("User deactivated"),
    "left_group": gettext_noop("User left the group"),
    "actor_deactivated": gettext_noop("Requester deactivated"),
    "acting_right_lost": gettext_noop("May no longer act for others"),
    "key_revoked": gettext_noop("Key revoked"),
    "right_lost": gettext_noop("Access lost"),
}


def label_reason(code: str) -> str:
    """Return the label of a call's reason in the reader's language."""
    return gettext(LABELS[code]) if code in LABELS else label_problem(code)
