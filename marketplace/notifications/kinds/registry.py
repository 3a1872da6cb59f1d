"""Registry of the kinds of channels: each module of this package is one."""

from collections.abc import Mapping
from typing import Any, Protocol, cast

from acl.platform.open_registry import modules_of
from marketplace.notifications.kinds.base import Message

MAIL = "mail"


class ChannelKind(Protocol):
    """Interface of each module. `LABEL` names the kind on pages."""

    LABEL: str


class AddressKind(ChannelKind, Protocol):
    """Interface of a kind that posts to an address.

    With `SIGNED`, it has a signing secret. `QUERY` names the parameters that its addresses have.
    """

    SIGNED: bool
    QUERY: tuple[str, ...]

    def body(self, message: Message) -> dict[str, Any]: ...


KINDS = cast("Mapping[str, ChannelKind]", modules_of("marketplace.notifications.kinds"))
ADDRESS_KINDS = cast(
    "Mapping[str, AddressKind]", {name: kind for name, kind in KINDS.items() if name != MAIL}
)


def label_kind(name: str) -> str:
    """Return the label of a kind; its name where this version has no such kind."""
    return str(KINDS[name].LABEL) if name in KINDS else name
