"""Watchers of one connection: who hears of changes that its server reports by itself.

A server of the older generation knows one subscriber a connection. So a resource is subscribed to
for its first watcher, and given up after its last.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import mcp_types as types
from mcp.client import Client
from mcp.shared.subscriptions import event_to_notification

from catalog.formats.descriptors import JSONObject
from catalog.servers.client.server_problems import ServerProblemError

Hear = Callable[[str, JSONObject], None]
Request = Callable[[str, dict[str, Any]], Awaitable[Any]]
_LISTS = (types.ResourceListChangedNotification, types.PromptListChangedNotification)


class ResourceWatchers:
    """The watchers of a connection to a server of the older generation."""

    def __init__(self) -> None:
        self._watching: dict[object, tuple[frozenset[str], Hear]] = {}

    def tell(self, message: object) -> None:
        """Pass on a notification to those whom it concerns."""
        if isinstance(message, types.ResourceUpdatedNotification):
            uri = str(message.params.uri)
            for uris, hear in list(self._watching.values()):
                if any(_is_within(uri, watched) for watched in uris):
                    hear(message.method, {"uri": uri})
        elif isinstance(message, _LISTS):
            for _, hear in list(self._watching.values()):
                hear(message.method, {})

    @asynccontextmanager
    async def added(
        self, uris: frozenset[str], hear: Hear, request: Request
    ) -> AsyncIterator[None]:
        """Add a watcher and subscribe to what nobody else watches."""
        token, news = object(), uris - self._watched()
        self._watching[token] = uris, hear
        try:
            for uri in sorted(news):
                await request("resources/subscribe", {"uri": uri})
            yield
        finally:
            del self._watching[token]
            for uri in sorted(uris - self._watched()):
                with suppress(ServerProblemError):
                    await request("resources/unsubscribe", {"uri": uri})

    def _watched(self) -> frozenset[str]:
        return frozenset().union(*(uris for uris, _ in self._watching.values()))


async def listen(
    client: Client, uris: frozenset[str], hear: Hear, ready: Callable[[], None]
) -> None:
    """Hear of changes at a server of the newer generation, until it ends the stream."""
    announced = client.server_capabilities
    prompts, resources = announced.prompts, announced.resources
    async with client.listen(
        prompts_list_changed=bool(prompts and prompts.list_changed),
        resources_list_changed=bool(resources and resources.list_changed),
        resource_subscriptions=sorted(uris),
    ) as events:
        ready()
        async for event in events:
            notification = event_to_notification(event, {})
            uri = getattr(event, "uri", None)
            hear(notification.method, {} if uri is None else {"uri": uri})


def _is_within(uri: str, watched: str) -> bool:
    """Return True for the watched resource and for parts of it."""
    return uri == watched or uri.startswith(watched.rstrip("/") + "/")
