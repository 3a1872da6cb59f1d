"""Texts of a listing for search, built like those of a capability."""

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
    """A listing, with the attributes from which the catalogue builds search texts."""

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


def describe_as_capability(listing: Listing) -> DescribedListing:
    """Describe the listing as a capability."""
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
        # Tool names stand in for parameters, since they say what the server is good for.
        input_schema={"properties": dict.fromkeys(names)},
        required_tools=(),
    )


def listing_text(listing: Listing) -> str:
    """Return the text to embed."""
    return embedding_text(describe_as_capability(listing))


def listing_hash(listing: Listing) -> str:
    """Return the digest of the text to embed."""
    return hashlib.sha256(listing_text(listing).encode()).hexdigest()


def listing_terms(listing: Listing) -> SparseVector:
    """Return the BM25 document vector."""
    return SparseVector(document_vector(describe_as_capability(listing)), DIMENSIONS)
