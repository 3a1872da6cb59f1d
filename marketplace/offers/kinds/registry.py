"""Registry of the kinds of sources: each module of this package is one."""

from collections.abc import Mapping
from typing import cast

from django.utils.translation import gettext_lazy as _

from acl.platform.open_registry import modules_of
from marketplace.models import Source
from marketplace.offers.kinds.base import SourceKind

KINDS = cast("Mapping[str, SourceKind]", modules_of("marketplace.offers.kinds"))
# What was stored without a source to read.
_UNREAD = {
    Source.IMPORT: _("Loaded by a command"),
    Source.BY_HAND: _("Added by an admin"),
}
CHOICES = [*((name, kind.LABEL) for name, kind in KINDS.items()), *_UNREAD.items()]
ADDED_KINDS = [(name, kind.LABEL) for name, kind in KINDS.items() if name not in Source.BUILT_IN]
# An unknown kind, of a later version, is none of them.
PUBLIC_KINDS = [name for name, kind in KINDS.items() if not kind.IS_INTERNAL]


def label_kind(name: str) -> str:
    """Return the label of a kind; its name where this version has no such kind."""
    return str(dict(CHOICES).get(name, name))
