"""One listing in full, as somebody reads it before they install it."""

from collections import Counter
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from catalog.models import Capability
from catalog.servers.client.variable_rules import refusal_of
from marketplace.listings.browse import Card, find_listing
from marketplace.listings.viewer import Viewer
from marketplace.models import Installation, Listing, ListingVersion

MOST_VERSIONS = 20
MOST_FILES = 200
# What tools do to things, the mildest first. One without a word on it counts as writing.
_EFFECTS = {
    Capability.SideEffect.READ: "only read",
    Capability.SideEffect.WRITE: "change or send something",
    Capability.SideEffect.DELETE: "delete something",
}


@dataclass(frozen=True, slots=True)
class Link:
    """An address that a listing names, safe to follow."""

    label: str
    url: str


@dataclass(frozen=True, slots=True)
class Details:
    """A listing with its versions, its files, and the installation of it that is under way."""

    card: Card
    versions: tuple[ListingVersion, ...]
    version_count: int
    files: tuple[str, ...]
    under_way: Installation | None

    @property
    def listing(self) -> Listing:
        """The listing itself."""
        return self.card.listing

    @property
    def is_taken(self) -> bool:
        """Whether it is installed, or being installed."""
        return self.card.integration is not None or self.under_way is not None

    @property
    def variables(self) -> tuple[dict[str, Any], ...]:
        """Variables that it asks for, each with the reason why Pegboard does not set it, or ""."""
        named = self.listing.needs.get("variables", ())
        is_program = self.listing.transport == "stdio"
        return tuple(
            {**one, "refusal": refusal_of(str(one["name"])) if is_program else ""} for one in named
        )

    @property
    def problem(self) -> str:
        """Why it cannot be installed, as far as it is known before anybody gives a secret."""
        refused = [one for one in self.variables if one["required"] and one["refusal"]]
        return " ".join(
            f"It requires the variable {one['name']}, which Pegboard does not set: "
            f"it {one['refusal']}."
            for one in refused
        )

    @property
    def links(self) -> tuple[Link, ...]:
        """Where to read more; nothing but https."""
        named = (("Home page", self.listing.homepage), ("Source code", self.listing.repository))
        links = {url: Link(label, url) for label, url in reversed(named) if _is_safe(url)}
        return tuple(reversed(links.values()))

    @property
    def effects(self) -> tuple[tuple[int, str], ...]:
        """How many of its tools do what to things, as far as their source says."""
        known = [tool["side_effect"] for tool in self.listing.tools if "side_effect" in tool]
        counts = Counter(known)
        return tuple(
            (counts[effect], words) for effect, words in _EFFECTS.items() if counts[effect]
        )


def listing_details(*, viewer: Viewer, slug: str) -> Details | None:
    """Everything about one listing; None both where there is none and where it is hidden."""
    card = find_listing(viewer=viewer, slug=slug)
    if card is None:
        return None
    versions = card.listing.versions.order_by("-is_latest", "-published_at", "-pk")
    files = card.listing.files.order_by("path", "pk").values_list("path", flat=True)
    return Details(
        card=card,
        versions=tuple(versions.defer("descriptor")[:MOST_VERSIONS]),
        version_count=versions.count(),
        files=tuple(files[:MOST_FILES]),
        under_way=_under_way(card.listing) if viewer.is_admin else None,
    )


def _under_way(listing: Listing) -> Installation | None:
    waiting = (*Installation.WORKING, Installation.State.NEEDS_APPROVAL)
    of_it = Installation.objects.filter(integration__listing=listing.slug, state__in=waiting)
    return of_it.order_by("-created_at", "-pk").first()


def _is_safe(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme == "https" and bool(parts.hostname) and not parts.username
    except ValueError:
        return False
