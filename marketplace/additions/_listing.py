"""Listings of what was added by hand, for admins only: servers, and skills."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from django.utils.translation import gettext_noop

from catalog.formats import skill
from catalog.formats.archive_members import MB, ArchiveFile, ArchiveLimits
from catalog.formats.descriptors import Defect, Descriptor, IntegrationDescriptor
from catalog.formats.entry import Document
from catalog.formats.files import RefusedError, decode
from catalog.formats.names import display_name_for, slug_for
from catalog.formats.package_names import NotAPackageError, parse_package
from catalog.models import Integration
from catalog.registration.integration_identity import find_target
from marketplace.listings.store import built_in_source, store_offers
from marketplace.models import Addition, Listing
from marketplace.offers.offer import Offer, OfferedFile, offer_of

SOURCE = "added"
State = Addition.State
_MOST_OF_ONE_NAME = 1_000
NAME_TAKEN = gettext_noop("This name is taken by another integration. Add it with another name.")


def store_server(
    row: Addition,
    descriptor: IntegrationDescriptor,
    tools: Iterable[Descriptor] = (),
    *,
    is_named: bool = True,
) -> None:
    """Store the listing, and set the row's outcome; saves only the listing.

    Unless the person named it (`is_named`), it gets a name that nothing else has.
    """
    if not is_named:
        title = find_free_title(_titles(descriptor), descriptor)
        if title != descriptor.title:
            tools = [replace(tool, integration=slug_for(title)) for tool in tools]
            descriptor = replace(descriptor, slug=slug_for(title), title=title)
            row.name = title[:100]
    offer = offer_of(descriptor, tools, key=descriptor.slug)
    source = built_in_source(SOURCE)
    report = store_offers([offer], source=source)
    if not report.loaded:
        row.state, row.reason, row.message = State.FAILED, "name_taken", NAME_TAKEN
        return
    row.state, row.listing = (
        State.READY,
        Listing.objects.get(source=source, key=offer.key).slug,
    )
    row.message = row.message or "Nothing was contacted. Its tools are listed when it is installed."


def find_free_title(titles: Iterable[str], descriptor: IntegrationDescriptor) -> str:
    """Return the first title that no other thing has, else the first one with a number.

    What is the same thing keeps its name, so that adding it again is an update.
    """
    candidates = list(titles)
    numbered = (f"{candidates[0]} {number}" for number in range(2, _MOST_OF_ONE_NAME))
    for title in (*candidates, *numbered):
        if not is_taken(slug_for(title), descriptor):
            return title
    return candidates[0]


def is_taken(slug: str, descriptor: IntegrationDescriptor) -> bool:
    """Return True if another thing is called so."""
    target = find_target(descriptor)
    return any(
        find_target(row) != target
        for model in (Listing, Integration)
        for row in model.objects.filter(slug=slug)
    )


def _titles(descriptor: IntegrationDescriptor) -> Iterator[str]:
    """Yield the title, and one with the scope of its package before it."""
    yield descriptor.title
    try:
        package = parse_package(descriptor.command)
    except NotAPackageError:
        return
    if package and package.index == "npm" and "/" in package.name:
        scope, _, name = package.name.lstrip("@").partition("/")
        yield display_name_for(f"{scope}-{name}")


# As of a source of skills.
LIMITS = ArchiveLimits(members=200, total=5 * MB, file=1 * MB)
_MOST_TOLD = 3


def is_skill_address(address: str) -> bool:
    """Return True if the address names an archive of a skill by its suffix."""
    return urlsplit(address).path.lower().endswith(skill.ARCHIVE_SUFFIX)


def store_skill(row: Addition, members: Sequence[ArchiveFile | Defect], digest: str) -> None:
    """Store the listing of an archive's skill, and set the row's outcome; saves only the listing.

    `digest` is that of the archive. Nothing of it is run. Raises RefusedError if it has no skill.
    """
    contents = {
        PurePosixPath(member.path): member.content
        for member in members
        if isinstance(member, ArchiveFile)
    }
    left_out = [member for member in members if isinstance(member, Defect)]
    places = [path for path in contents if skill.is_skill_file(path.name)]
    if len(places) != 1:
        raise RefusedError(f"has {len(places)} files SKILL.md; a skill has one")
    offer, defects = _offer_of(row, contents, places[0], digest)
    _store(row, offer, [*left_out, *defects])


def store_pasted_skill(row: Addition, text: str) -> None:
    """Store the listing of a pasted SKILL.md as `store_skill` does."""
    path = PurePosixPath(slug_for(row.name) if row.name else "skill") / skill.FILE_NAME
    content = text.encode()
    _store(row, *_offer_of(row, {path: content}, path, sha256(content).hexdigest()))


def _store(row: Addition, offer: Offer, left_out: list[Defect]) -> None:
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


def _offer_of(
    row: Addition, contents: dict[PurePosixPath, bytes], place: PurePosixPath, digest: str
) -> tuple[Offer, list[Defect]]:
    folder = place.parent
    files = tuple(
        OfferedFile(path.relative_to(folder).as_posix(), content)
        for path, content in sorted(contents.items())
        if path.is_relative_to(folder)
    )
    stem = PurePosixPath(unquote(urlsplit(row.address).path)).stem
    # A skill without a name is that of its folder, or else of its archive.
    document = Document(file=f"{folder.name or stem}/{place.name}", value=decode(contents[place]))
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
        details={"files": digest, "folder": folder.name or stem},
    )
    return offer, document.defects
