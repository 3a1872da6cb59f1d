"""Registry of the chat APIs: each module of this package is one, by its name."""

from collections.abc import Mapping
from typing import cast

from acl.platform.open_registry import modules_of
from discovery.chats.providers.base import ProviderAPI

APIS = cast("Mapping[str, ProviderAPI]", modules_of("discovery.chats.providers"))


def label_provider(name: str) -> str:
    """Return the label of a provider; its name where this version has no such API."""
    return str(APIS[name].LABEL) if name in APIS else name
