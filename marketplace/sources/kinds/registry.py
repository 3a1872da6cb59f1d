"""Readers by kind of source. A new kind needs a module with `offers`, and a line here."""

from collections.abc import Iterator
from typing import Protocol

from marketplace.listings.offers import Offer
from marketplace.models import Source
from marketplace.sources._reader import SourceReading
from marketplace.sources.kinds import client_config, docker, mcp_registry, plugins, skills, starter


class Reader(Protocol):
    """Interface of the modules that each read one kind of source."""

    def offers(self, reading: SourceReading) -> Iterator[Offer]: ...


READERS: dict[str, Reader] = {
    Source.Kind.STARTER: starter,
    Source.Kind.REGISTRY: mcp_registry,
    Source.Kind.DOCKER: docker,
    Source.Kind.SKILLS: skills,
    Source.Kind.PLUGINS: plugins,
    Source.Kind.MCP_JSON: client_config,
}
