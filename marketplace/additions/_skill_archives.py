"""Skills that are added by the address of their `.skill` archive."""

from dataclasses import replace
from hashlib import sha256
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from django.utils.translation import gettext_noop

from catalog.formats import skill
from catalog.formats.archive_members import MB, ArchiveFile, ArchiveLimits
from catalog.formats.descriptors import Defect
from catalog.formats.entry import Document
from catalog.formats.files import RefusedError, decode
from catalog.formats.names import slug_for
from catalog.servers.client.document_readers import read_archive
from marketplace.additions._listing import NAME_TAKEN, SOURCE, is_taken
from marketplace.listings.store import built_in_source, store_offers
from marketplace.models import Addition, Listing
from marketplace.offers.offer import Offer, OfferedFile, offer_of

# As of a source of skills.
_LIMITS = ArchiveLimits(members=200, total=5 * MB, file=1 * MB)
_MOST_TOLD = 3


def is_skill_address(address: str) -> bool:
    """Return True if the address names an archive of a skill by its suffix."""
    return urlsplit(address).path.lower().endswith(skill.ARCHIVE_SUFFIX)


def store_skill(row: Addition, body: bytes) -> None:
    """Store the listing of the archive's skill, and set the row's outcome; saves only the listing.

    Nothing of it is run. Raises RefusedError for an archive that is not safe, or has no skill.
    """
    offer, left_out = _read(row, body)
    source = built_in_source(SOURCE)
    is_free = not is_taken(offer.descriptor.slug, offer.descriptor)
    if not is_free or not store_offers([offer], source=source).loaded:
        row.state, row.reason, row.message = Addition.State.FAILED, "name_taken", NAME_TAKEN
        return
    row.what, row.name = Addition.What.PACKAGE, row.name or offer.descriptor.title[:100]
    row.state = Addition.State.READY
    row.listing = Listing.objects.get(source=source, key=offer.key).slug
    row.message = f"A skill with {len(offer.files):,} files. Nothing of it was run."
    if len(offer.files) == 1:
        row.message = gettext_noop("A skill with one file. Nothing of it was run.")
    if left_out:
        reasons = "; ".join(f"{defect.file} {defect.reason}" for defect in left_out[:_MOST_TOLD])
        row.message += f"\nLeft out: {len(left_out):,} ({reasons})."


def _read(row: Addition, body: bytes) -> tuple[Offer, list[Defect]]:
    members = list(read_archive(body, limits=_LIMITS))
    contents = {
        PurePosixPath(member.path): member.content
        for member in members
        if isinstance(member, ArchiveFile)
    }
    left_out = [member for member in members if isinstance(member, Defect)]
    places = [path for path in contents if skill.is_skill_file(path.name)]
    if len(places) != 1:
        raise RefusedError(f"has {len(places)} files SKILL.md; a skill has one")
    folder = places[0].parent
    files = tuple(
        OfferedFile(path.relative_to(folder).as_posix(), content)
        for path, content in sorted(contents.items())
        if path.is_relative_to(folder)
    )
    stem = PurePosixPath(unquote(urlsplit(row.address).path)).stem
    # A skill without a name is that of its folder, or else of its archive.
    document = Document(
        file=f"{folder.name or stem}/{places[0].name}", value=decode(contents[places[0]])
    )
    loaded = skill.read(document)
    [integration], [capability] = loaded.integrations, loaded.capabilities
    if row.name:
        integration = replace(integration, slug=slug_for(row.name), title=row.name)
    offer = offer_of(
        replace(integration, source_ref={**integration.source_ref, "address": row.address}),
        key=integration.slug,
        category=capability.category,
        tags=capability.tags,
        readme=capability.content,
        files=files,
        details={"files": sha256(body).hexdigest(), "folder": folder.name or stem},
    )
    return offer, [*left_out, *document.defects]
