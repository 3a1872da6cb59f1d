"""The operations of a listed API, from which an admin chooses before it is installed."""

import uuid
from dataclasses import dataclass, replace

from catalog.formats.descriptors import IntegrationDescriptor
from catalog.formats.openapi.api_choice import FIRST_LIMIT, MOST, ApiChoice, choose, count_tags
from catalog.formats.openapi.api_operations import ApiOperation
from catalog.models import ApiDocument
from marketplace.models import Listing

MOST_SHOWN = 30


@dataclass(frozen=True, slots=True)
class OperationChoice:
    """A choice with its outcome, as the page shows it."""

    choice: ApiChoice
    tags: list[tuple[str, int]]
    total: int
    chosen: list[ApiOperation]

    @property
    def shown(self) -> list[ApiOperation]:
        """The first of the chosen operations."""
        return self.chosen[:MOST_SHOWN]

    @property
    def more(self) -> int:
        """Number of chosen operations beyond those shown."""
        return len(self.chosen) - len(self.shown)


def list_operations(listing: Listing) -> list[ApiOperation]:
    """Return the operations of the listing's document, without their schemas."""
    try:
        public_id = uuid.UUID(str(listing.details.get("document") or ""))
    except ValueError:
        return []
    rows = ApiDocument.objects.filter(public_id=public_id).values_list("outline", flat=True)
    return [
        ApiOperation(name, method, path, summary, tuple(tags), {})
        for outline in rows
        for name, method, path, summary, tags in outline
    ]


def choose_operations(
    listing: Listing, *, tags: list[str] | None = None, words: str = "", limit: int = 0
) -> OperationChoice | None:
    """Return the outcome of a choice; None for a listing that is no API."""
    operations = list_operations(listing)
    if not operations:
        return None
    choice = ApiChoice(
        tags=tuple(tags or ()), words=words, limit=min(limit, MOST) if limit > 0 else FIRST_LIMIT
    )
    return OperationChoice(
        choice, count_tags(operations), len(operations), choose(operations, choice)
    )


def with_choice(
    descriptor: IntegrationDescriptor, choice: ApiChoice | None
) -> IntegrationDescriptor:
    """Return the descriptor of an API with the operations that are installed of it."""
    if choice is None:
        return descriptor
    return replace(descriptor, source_ref={**descriptor.source_ref, "chosen": choice.as_json()})
