"""Reviews of listings whose texts the scanner holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from acl.platform.answer_model import HIDDEN, Answer, Shown
from catalog.formats.descriptors import IntegrationDescriptor
from catalog.registration.definition_review import ChangedSinceError
from catalog.trust.findings import Finding, read_findings
from marketplace.listings.scanner import digest_of_listing
from marketplace.models import Listing

Review = Listing.Review


class ListingHeldError(Exception):
    """The listing waits for an admin, and whoever asks is none."""

    def __init__(self) -> None:
        super().__init__(_("An admin has to review the text of this listing first."))


@dataclass(frozen=True, slots=True)
class ListingReview(Answer):
    """The findings about a listing's text, and the decision about it."""

    state: Annotated[
        str,
        Shown(
            "Only admins see values other than `clear` and `approved`.",
            choices=Review.choices,
        ),
    ]
    seen: Annotated[str, Shown("Digest of the text: send it back to decide.")]
    findings: list[Finding]
    is_held: Annotated[bool, HIDDEN]

    @property
    def can_approve(self) -> bool:
        """True if there is something to approve."""
        return self.state in (Review.HELD, Review.REJECTED)

    @property
    def can_hide(self) -> bool:
        """True if it could be kept from everyone but admins."""
        return self.state in (Review.HELD, Review.APPROVED)


def review_of(listing: Listing) -> ListingReview:
    """Return the review as it stands."""
    findings = read_findings(listing.findings)
    return ListingReview(listing.review, listing.texts_digest, findings, listing.is_held)


@transaction.atomic
def approve_listing(*, by: User, listing: Listing, digest: str) -> bool:
    """Release a held listing. Return False if it is not held."""
    return _decide(by, listing, digest, Review.APPROVED, (Review.HELD, Review.REJECTED))


@transaction.atomic
def hide_listing(*, by: User, listing: Listing, digest: str) -> bool:
    """Keep a listing from everyone but admins; False where it is neither held nor approved.

    Later texts under its name wait for an admin, too. Raises ChangedSinceError.
    """
    return _decide(by, listing, digest, Review.REJECTED, (Review.HELD, Review.APPROVED))


def held_listing(descriptor: IntegrationDescriptor) -> Listing | None:
    """Return the listing that the descriptor is made from, if it is held."""
    slug = str(descriptor.source_ref.get("listing") or "")
    if not slug:
        return None
    return Listing.objects.filter(slug=slug).exclude(review__in=Listing.PASSED).first()


def check_not_held(by: User, descriptor: IntegrationDescriptor) -> None:
    """Raise ListingHeldError for a held listing. Admins pass: they are shown the findings."""
    if not by.is_staff and held_listing(descriptor) is not None:
        raise ListingHeldError


def _decide(
    by: User, listing: Listing, digest: str, to: Review, come_from: Sequence[Review]
) -> bool:
    row = Listing.objects.select_for_update().filter(pk=listing.pk).first()
    if row is None or digest != row.texts_digest or digest != digest_of_listing(row):
        raise ChangedSinceError
    if row.review not in come_from:
        return False
    row.review = to
    row.save(update_fields=["review"])
    action = "listing.approve" if to == Review.APPROVED else "listing.hide"
    codes = sorted({finding.code for finding in read_findings(row.findings)})
    record(by=by, action=action, target=row.slug, details={"texts": digest, "findings": codes})
    return True
