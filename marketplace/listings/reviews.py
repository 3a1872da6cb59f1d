"""Reviews of listings whose texts the scanner holds."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Annotated

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from acl.platform.answer_model import HIDDEN, Answer, Shown
from catalog.embedding.jobs import chunks
from catalog.formats.descriptors import IntegrationDescriptor, JSONObject
from catalog.registration.definition_review import ChangedSinceError
from catalog.trust.findings import Finding, read_findings, requires_review
from catalog.trust.gate import examine_listing
from catalog.trust.stored_definition import PLAIN_VERSION
from catalog.trust.tool_list import digest_definition
from marketplace.models import Listing, ListingFile, ListingVersion

# Scan the texts of listings before anyone but an admin reads them.
#
# Everything that pages and answers show of a listing is scanned when it is stored. What is flagged
# is held: it is there for admins only, until one of them has decided. The decision is about these
# texts; other ones are scanned again.

Review = Listing.Review
_COLUMNS = (
    *("title", "description", "publisher", "licence", "homepage", "repository", "category"),
    *("tags", "readme", "tools", "needs"),
)
_SCANNED_AT_ONCE = 100
# Of a sweep, which shares its worker with the embedding of capabilities.
_SWEEP_SECONDS = 5.0


def scan_listings(rows: Iterable[Listing]) -> list[Listing]:
    """Scan those whose texts are new or changed; the ones that an admin has to look at now.

    A name that an admin keeps hidden waits with every other text, too.
    """
    rows = list(rows)
    scanned = []
    for row, texts in zip(rows, _texts_of(rows), strict=True):
        digest = digest_definition(texts)
        if row.review != Review.UNSCANNED and row.texts_digest == digest:
            continue
        findings = examine_listing(texts)
        held = requires_review(findings) or row.review == Review.REJECTED
        row.review = Review.HELD if held else Review.CLEAR
        row.findings = [finding.as_json() for finding in findings]
        row.texts_digest = digest
        scanned.append(row)
    with connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE marketplace_listing SET review = %s, findings = %s, texts_digest = %s"
            " WHERE id = %s",
            [(row.review, json.dumps(row.findings), row.texts_digest, row.pk) for row in scanned],
        )
    return [row for row in scanned if row.is_held]


def scan_stored_listings() -> int:
    """Scan listings that were stored before there was a scanner, or past it; how many."""
    until, number = monotonic() + _SWEEP_SECONDS, 0
    waiting = Listing.objects.filter(review=Review.UNSCANNED)
    keys = list(waiting.order_by("pk").values_list("pk", flat=True))
    for some in chunks(keys, _SCANNED_AT_ONCE):
        with transaction.atomic():
            rows = waiting.filter(pk__in=some).order_by("pk").defer("details")
            number += len(locked := list(rows.select_for_update(skip_locked=True, of=("self",))))
            scan_listings(locked)
        if monotonic() > until:
            break
    return number


def digest_of_listing(row: Listing) -> str:
    """Return what a decision about the listing is bound to."""
    return digest_definition(next(_texts_of([row])))


def _texts_of(rows: Sequence[Listing]) -> Iterator[JSONObject]:
    """Yield every text shown of each listing, including names of versions and files."""
    keys = [row.pk for row in rows]
    versions = ListingVersion.objects.filter(listing__in=keys).exclude(
        version__regex=PLAIN_VERSION.pattern
    )
    version_names = _by_listing(versions.order_by("version").values_list("listing", "version"))
    files = ListingFile.objects.filter(listing__in=keys).order_by("path")
    paths = _by_listing(files.values_list("listing", "path"))
    for row in rows:
        texts = {name: getattr(row, name) for name in _COLUMNS}
        # Read as words, whatever stands between them.
        texts["slug"] = row.slug.replace("-", " ")
        texts["versions"], texts["files"] = version_names[row.pk], paths[row.pk]
        # Nobody has to decide again because of a new number.
        if not PLAIN_VERSION.match(row.version):
            texts["version"] = row.version
        yield {name: text for name, text in texts.items() if text}


def _by_listing(pairs: Iterable[tuple[int, str]]) -> Mapping[int, list[str]]:
    texts: dict[int, list[str]] = defaultdict(list)
    for listing, text in pairs:
        texts[listing].append(text)
    return texts


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
