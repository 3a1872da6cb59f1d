"""Details of one listing, as a viewer reads them before installing it."""

import uuid
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from django.utils.translation import gettext as _
from django.utils.translation import ngettext_lazy

from catalog.formats.descriptors import IntegrationDescriptor
from catalog.formats.openapi.api_choice import FIRST_LIMIT, MOST, ApiChoice, choose, count_tags
from catalog.formats.openapi.api_operations import ApiOperation
from catalog.models import ApiDocument, Capability
from catalog.servers.client.variable_rules import refusal_reason
from marketplace.listings._browse import Card, find_listing
from marketplace.listings.viewer import Viewer
from marketplace.models import Installation, Listing, ListingVersion

MOST_VERSIONS = 20
MOST_FILES = 200
# Side effects, mildest first. Listing pages group tools by them.
_EFFECTS = {
    Capability.SideEffect.READ: ngettext_lazy("%(n)d only reads", "%(n)d only read", "n"),
    Capability.SideEffect.WRITE: ngettext_lazy(
        "%(n)d changes or sends data", "%(n)d change or send data", "n"
    ),
    Capability.SideEffect.DELETE: ngettext_lazy("%(n)d deletes data", "%(n)d delete data", "n"),
    Capability.SideEffect.UNKNOWN: ngettext_lazy(
        "%(n)d may change data", "%(n)d may change data", "n"
    ),
}


@dataclass(frozen=True, slots=True)
class Link:
    """A labelled https link of a listing."""

    label: str
    url: str


@dataclass(frozen=True, slots=True)
class ListingDetails:
    """A listing with its versions, files and pending installation."""

    card: Card
    versions: tuple[ListingVersion, ...]
    version_count: int
    files: tuple[str, ...]
    under_way: Installation | None

    @property
    def listing(self) -> Listing:
        """The listing of the card."""
        return self.card.listing

    @property
    def is_taken(self) -> bool:
        """True if it is installed or an installation is pending."""
        return self.card.integration is not None or self.under_way is not None

    @property
    def variables(self) -> tuple[dict[str, Any], ...]:
        """Variables of the listing, each with the reason why Pegboard refuses to set it, or ""."""
        rows = self.listing.needs.get("variables", ())
        is_program = self.listing.transport == "stdio"
        return tuple(
            {**variable, "refusal": refusal_reason(str(variable["name"])) if is_program else ""}
            for variable in rows
        )

    @property
    def problem(self) -> str:
        """Reason why it cannot be installed, as far as known before anyone enters a secret."""
        refused = [
            variable for variable in self.variables if variable["required"] and variable["refusal"]
        ]
        return " ".join(
            _("It requires the variable %(name)s, which Pegboard does not set: it %(refusal)s.")
            % {"name": variable["name"], "refusal": variable["refusal"]}
            for variable in refused
        )

    @property
    def links(self) -> tuple[Link, ...]:
        """Distinct https links to its home page and source code."""
        candidates = (
            (_("Home page"), self.listing.homepage),
            (_("Source code"), self.listing.repository),
        )
        # Reversed twice: the first label wins if both addresses are the same.
        links = {url: Link(label, url) for label, url in reversed(candidates) if _is_safe(url)}
        return tuple(reversed(links.values()))

    @property
    def effects(self) -> tuple[str, ...]:
        """Phrases with the number of tools for each declared side effect."""
        declared = [tool["side_effect"] for tool in self.listing.tools if "side_effect" in tool]
        counts = Counter(declared)
        return tuple(
            str(words % {"n": counts[effect]})
            for effect, words in _EFFECTS.items()
            if counts[effect]
        )


def listing_details(*, viewer: Viewer, slug: str) -> ListingDetails | None:
    """Return one listing in full; None if it does not exist or the viewer may not see it."""
    card = find_listing(viewer=viewer, slug=slug)
    if card is None:
        return None
    versions = card.listing.versions.order_by("-is_latest", "-published_at", "-pk")
    files = card.listing.files.order_by("path", "pk").values_list("path", flat=True)
    return ListingDetails(
        card=card,
        versions=tuple(versions.defer("descriptor")[:MOST_VERSIONS]),
        version_count=versions.count(),
        files=tuple(files[:MOST_FILES]),
        under_way=_find_pending_installation(card.listing) if viewer.is_admin else None,
    )


def _find_pending_installation(listing: Listing) -> Installation | None:
    waiting = (*Installation.WORKING, Installation.State.NEEDS_APPROVAL)
    of_it = Installation.objects.filter(integration__listing=listing.slug, state__in=waiting)
    return of_it.order_by("-created_at", "-pk").first()


def _is_safe(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme == "https" and bool(parts.hostname) and not parts.username
    except ValueError:
        return False


# The operations of a listed API, from which an admin chooses before it is installed.

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
