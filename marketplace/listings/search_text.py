"""A listing as the text that it is found by: the same readings and words as a capability's."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pgvector import SparseVector

from catalog.embedding.embedding_text import embedding_text
from catalog.lexical import DIMENSIONS, document_vector
from marketplace.models import Listing

_MOST_TOOLS = 40


@dataclass(frozen=True, slots=True)
class DescribedListing:
    """What the catalogue's own texts are made from, told of a listing: its tools take the place of
    parameters, since they say what it is good for."""

    integration: str
    action: str
    full_name: str
    display_name: str
    description: str
    category: str
    category_inferred: bool
    tags: Sequence[str]
    examples: Sequence[str]
    input_schema: Mapping[str, Any]
    required_tools: Sequence[str]


def described(listing: Listing) -> DescribedListing:
    """The listing in the terms of a capability."""
    names = [str(tool.get("name", "")) for tool in listing.tools[:_MOST_TOOLS]]
    return DescribedListing(
        integration=listing.publisher,
        action=listing.title,
        full_name=listing.slug,
        display_name=listing.slug,
        description=listing.description,
        category=listing.category,
        category_inferred=False,
        tags=listing.tags,
        examples=(),
        input_schema={"properties": dict.fromkeys(names)},
        required_tools=(),
    )


def listing_text(listing: Listing) -> str:
    """What it is embedded by."""
    return embedding_text(described(listing))


def listing_hash(listing: Listing) -> str:
    """Of the text that it is embedded by."""
    return hashlib.sha256(listing_text(listing).encode()).hexdigest()


def listing_terms(listing: Listing) -> SparseVector:
    """Its side of BM25, as it is stored."""
    return SparseVector(document_vector(described(listing)), DIMENSIONS)
