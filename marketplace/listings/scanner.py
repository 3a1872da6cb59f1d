"""Scan the texts of listings before anyone but an admin reads them.

Everything that pages and answers show of a listing is scanned when it is stored. What is flagged is
held: it is there for admins only, until one of them has decided. The decision is about these texts;
other ones are scanned again.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import monotonic

from django.db import connection, transaction

from catalog.embedding.vector_batches import chunks
from catalog.formats.descriptors import JSONObject
from catalog.trust.findings import requires_review
from catalog.trust.gate import examine_listing
from catalog.trust.stored_definition import PLAIN_VERSION
from catalog.trust.tool_list import digest_definition
from marketplace.models import Listing, ListingFile, ListingVersion

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
    _write(scanned)
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


def _write(rows: Sequence[Listing]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE marketplace_listing SET review = %s, findings = %s, texts_digest = %s"
            " WHERE id = %s",
            [(row.review, json.dumps(row.findings), row.texts_digest, row.pk) for row in rows],
        )
