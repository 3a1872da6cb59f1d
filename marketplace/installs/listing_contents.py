"""Capabilities of listings without a server: skills, extensions, channels, voices.

None of them is executed; files of skills are only read.
"""

from dataclasses import replace

from catalog.formats import skill
from catalog.formats.categories import resolve_category
from catalog.formats.descriptors import (
    Defect,
    Descriptor,
    IntegrationDescriptor,
    JSONObject,
    Kind,
    Loaded,
    column_values,
    from_columns,
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
# Text files beside a SKILL.md are added to its content; of others only the names.
_TEXT_SUFFIXES = (".md", ".txt", ".rst")


def read_contents(integration: IntegrationDescriptor) -> Loaded:
    """Return the capabilities of an integration, from what its source has stored here."""
    if integration.kind == "skill":
        return _read_skill(integration)
    kind = _KINDS.get(integration.kind)
    if kind is None:
        reason = f"is a {integration.kind}, which has nothing to install"
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
        # It acts on the outside world, and its source does not say how.
        side_effect="write",
        source_ref=dict(integration.source_ref),
    )
    return Loaded((integration,), (capability,))


def capabilities_to_json(loaded: Loaded) -> list[JSONObject]:
    """Serialize the capabilities for the installation's row, for a rollback."""
    return [column_values(one) for one in loaded.capabilities]


def capabilities_from_json(
    integration: IntegrationDescriptor, capabilities: list[JSONObject]
) -> Loaded:
    """Restore the capabilities from an installation's row."""
    return Loaded((integration,), tuple(_restore(one) for one in capabilities))


def _restore(values: JSONObject) -> Descriptor:
    # Rows of earlier releases do not say whether their source declared the effect.
    is_inferred = values.get("kind") == "tool"
    return from_columns(Descriptor, {"side_effect_inferred": is_inferred, **values})


def _read_skill(integration: IntegrationDescriptor) -> Loaded:
    """Read the listing's SKILL.md, with the text files beside it."""
    listing = str(integration.source_ref.get("listing") or "")
    files = {
        row.path: bytes(row.content)
        for row in ListingFile.objects.filter(listing__slug=listing).order_by("path", "pk")
    }
    text = files.pop(skill.FILE_NAME, None)
    if text is None:
        gone = Defect(integration.slug, skill.FILE_NAME, "is missing: refresh its source")
        return Loaded(defects=(gone,))
    document = Document(file=skill.FILE_NAME, value=text.decode(errors="replace"))
    try:
        read = skill.read(document)
    except RefusedError as refused:
        defect = Defect(integration.slug, refused.field, refused.reason)
        return Loaded(defects=(defect,))
    capabilities = tuple(_adapt_skill(one, integration, files) for one in read.capabilities)
    return Loaded((integration,), capabilities, tuple(document.defects))


def _adapt_skill(
    read: Descriptor, integration: IntegrationDescriptor, files: dict[str, bytes]
) -> Descriptor:
    """Return the skill under its listing's name, with the texts of the other files."""
    content, hidden = read.content, read.hidden_characters
    for path, raw in files.items():
        if path.lower().endswith(_TEXT_SUFFIXES):
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
