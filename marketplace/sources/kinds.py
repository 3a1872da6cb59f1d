"""Which file reads which kind of source; adding one is a file of the same shape and a line here."""

from collections.abc import Iterator
from typing import Protocol

from marketplace.models import Source
from marketplace.offers import Offer
from marketplace.sources import (
    docker_catalog,
    mcp_json,
    mcp_registry,
    plugins,
    skills_folder,
    starter,
)
from marketplace.sources.reading import Reading


class Reader(Protocol):
    """One kind of source: all that a source of it offers, one after the other."""

    def offers(self, reading: Reading) -> Iterator[Offer]: ...


READERS: dict[str, Reader] = {
    Source.Kind.STARTER: starter,
    Source.Kind.REGISTRY: mcp_registry,
    Source.Kind.DOCKER: docker_catalog,
    Source.Kind.SKILLS: skills_folder,
    Source.Kind.PLUGINS: plugins,
    Source.Kind.MCP_JSON: mcp_json,
}
