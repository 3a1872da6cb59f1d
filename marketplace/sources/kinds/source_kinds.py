"""Which file reads which kind of source; adding one is a file of the same shape and a line here."""

from collections.abc import Iterator
from typing import Protocol

from marketplace.listings.offers import Offer
from marketplace.models import Source
from marketplace.sources.kinds import (
    client_config_source,
    docker_source,
    plugin_source,
    registry_source,
    skill_source,
    starter_source,
)
from marketplace.sources.source_reader import Reading


class Reader(Protocol):
    """One kind of source: all that a source of it offers, one after the other."""

    def offers(self, reading: Reading) -> Iterator[Offer]: ...


READERS: dict[str, Reader] = {
    Source.Kind.STARTER: starter_source,
    Source.Kind.REGISTRY: registry_source,
    Source.Kind.DOCKER: docker_source,
    Source.Kind.SKILLS: skill_source,
    Source.Kind.PLUGINS: plugin_source,
    Source.Kind.MCP_JSON: client_config_source,
}
