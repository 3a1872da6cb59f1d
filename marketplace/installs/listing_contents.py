"""Capabilities of listings that are no servers: skills, extensions, channels, voices. Nothing of
them is started; what lies in a skill's folder is read, and never run."""

from dataclasses import asdict, replace
from typing import Any

from catalog.formats import skill
from catalog.formats.categories import resolve_category
from catalog.formats.descriptors import (
    Defect,
    Descriptor,
    EdgeDescriptor,
    IntegrationDescriptor,
    JSONObject,
    Kind,
    Loaded,
)
from catalog.formats.entry import Document
from catalog.formats.files import RefusedError
from catalog.formats.names import identifier_for
from catalog.formats.read_limits import DEFAULT_LIMITS
from catalog.formats.text_cleanup import clean_text
from marketplace.models import ListingFile

_KINDS: dict[str, Kind] = {
    "skill": "skill",
    "extension": "extension",
    "channel": "channel",
    "voice": "voice",
}
# Files beside a SKILL.md that are words; others are named, and left where they are.
_WORDS = (".md", ".txt", ".rst")


def contents_of(integration: IntegrationDescriptor) -> Loaded:
    """What the integration brings, from what its source has left here."""
    if integration.kind == "skill":
        return _skill(integration)
    kind = _KINDS.get(integration.kind)
    if kind is None:
        reason = f"is a {integration.kind}, and there is nothing to install of it"
        return Loaded(defects=(Defect(integration.slug, "kind", reason),))
    title, description = integration.title, integration.description
    declared = str(integration.source_ref.get("category") or "")
    category, inferred = resolve_category(declared, name=title, description=description)
    capability = Descriptor(
        kind=kind,
        integration=integration.slug,
        action=integration.slug,
        full_name=integration.slug,
        identifier=identifier_for(kind, integration.slug),
        display_name=title,
        description=description,
        category=category,
        category_inferred=inferred,
        tags=tuple(integration.source_ref.get("tags") or ()),
        required_secrets=integration.required_secrets,
        # Whatever it does, it does to the world outside; nobody has said otherwise.
        side_effect="write",
        source_ref=dict(integration.source_ref),
    )
    return Loaded((integration,), (capability,))


def kept(loaded: Loaded) -> list[JSONObject]:
    """The capabilities as a row keeps them, to be taken back to."""
    return [asdict(one) for one in loaded.capabilities]


def kept_before(integration: IntegrationDescriptor, capabilities: list[JSONObject]) -> Loaded:
    """What was kept, as it was."""
    return Loaded((integration,), tuple(_restored(one) for one in capabilities))


def _restored(values: JSONObject) -> Descriptor:
    edges = tuple(EdgeDescriptor(**edge) for edge in values["edges"])
    plain: dict[str, Any] = {
        name: tuple(one) if isinstance(one, list) else one for name, one in values.items()
    }
    return Descriptor(**(plain | {"edges": edges}))


def _skill(integration: IntegrationDescriptor) -> Loaded:
    """The SKILL.md of the listing's folder, with the words that lie beside it."""
    listing = str(integration.source_ref.get("listing") or "")
    files = {
        row.path: bytes(row.content)
        for row in ListingFile.objects.filter(listing__slug=listing).order_by("path", "pk")
    }
    text = files.pop(skill.FILE_NAME, None)
    if text is None:
        gone = Defect(integration.slug, skill.FILE_NAME, "is not there: read its source again")
        return Loaded(defects=(gone,))
    document = Document(file=skill.FILE_NAME, value=text.decode(errors="replace"))
    try:
        read = skill.read(document)
    except RefusedError as refused:
        defect = Defect(integration.slug, refused.field, refused.reason)
        return Loaded(defects=(defect,))
    capabilities = tuple(_own(one, integration, files) for one in read.capabilities)
    return Loaded((integration,), capabilities, tuple(document.defects))


def _own(
    read: Descriptor, integration: IntegrationDescriptor, files: dict[str, bytes]
) -> Descriptor:
    """The skill by the name that its listing has here."""
    content, hidden = read.content, read.hidden_characters
    for path, raw in files.items():
        if path.lower().endswith(_WORDS):
            text, more = clean_text(raw.decode(errors="replace"))
            whole = f"{content}\n\n## {path}\n\n{text.strip()}"
            if len(whole) <= DEFAULT_LIMITS.content:
                content, hidden = whole, hidden + more
    return replace(
        read,
        integration=integration.slug,
        action=integration.slug,
        full_name=integration.slug,
        identifier=identifier_for("skill", integration.slug),
        content=content,
        hidden_characters=hidden,
        annotations={**read.annotations, "files": sorted(files)},
        source_ref={**read.source_ref, **integration.source_ref},
    )
