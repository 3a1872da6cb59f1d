"""Readers by kind of source. A new kind needs a module with `offers`, and a line here."""

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
    """Interface of the modules that each read one kind of source."""

    def offers(self, reading: Reading) -> Iterator[Offer]: ...


READERS: dict[str, Reader] = {
    Source.Kind.STARTER: starter_source,
    Source.Kind.REGISTRY: registry_source,
    Source.Kind.DOCKER: docker_source,
    Source.Kind.SKILLS: skill_source,
    Source.Kind.PLUGINS: plugin_source,
    Source.Kind.MCP_JSON: client_config_source,
}
