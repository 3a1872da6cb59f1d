"""Names of accounts, groups, keys and spaces: approvals and the audit log show them to people."""

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from acl.visible_text.pieces import show_text

_REFUSED = _(
    "This name has characters that are invisible or look like others: %(shown)s. "
    "Use letters of one alphabet."
)


def check_plain_name(name: str) -> None:
    """Raise ValidationError for a name that a person could take for another one.

    A name may be in any alphabet. It may not mix alphabets within a word, imitate Latin letters, or
    have hidden characters.
    """
    shown = show_text(name)
    if shown != name:
        raise ValidationError(_REFUSED % {"shown": shown}, code="imitation")
