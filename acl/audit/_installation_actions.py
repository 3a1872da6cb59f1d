"""Actions that concern the whole installation, which a key for some groups never does.

Every administrative service writes its change together with an audit entry, so the entry is where
all of them are checked against the key that the request has shown, whatever door it came by.
"""

from django.core.exceptions import PermissionDenied
from django.utils.translation import gettext as _

from acl.actor.request_context import ShownKey

KINDS = frozenset({"chat_model", "configuration", "install", "model_price", "quota", "source"})
SINGLE = frozenset(
    {
        "call_policy.changed",
        "catalog.rebuild",
        "group.merged",
        "integration.confirm",
        "integration.network",
        "integration.uninstall",
    }
)


def check_credential(action: str, key: ShownKey | None) -> None:
    """Raise PermissionDenied, which undoes the change, if the action is the installation's and the
    key is for some groups. Who may do it without a key, the doors ask."""
    of_installation = action in SINGLE or action.partition(".")[0] in KINDS
    if of_installation and key is not None and not key.is_of_the_installation:
        raise PermissionDenied(
            _("This concerns the whole installation. Use an admin's key for all groups.")
        )
