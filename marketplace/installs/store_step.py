"""The storing step: writes the tools of a server, or the contents of another listing.

A first installation writes rows that nobody can use while its integration is pending. An update
replaces the old version and its tools in one transaction.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.utils.translation import gettext_noop

from catalog.formats import skill
from catalog.formats.categories import resolve_category
from catalog.formats.descriptors import (
    Defect,
    Descriptor,
    IntegrationDescriptor,
    JSONObject,
    Kind,
    Loaded,
    ToolDefect,
    column_values,
    from_columns,
)
from catalog.formats.entry import Document
from catalog.formats.files import DEFAULT_LIMITS, RefusedError
from catalog.formats.names import identifier_for
from catalog.formats.text_cleanup import clean_text
from catalog.models import Definition, Integration
from catalog.registration.admission import hold_integrations, review_integrations
from catalog.registration.definition_comparison import store_definitions
from catalog.registration.definition_review import (
    approve_definitions,
    forget_gone,
    list_waiting,
    seen_digest,
)
from catalog.registration.register import register
from catalog.trust.tool_list import (
    canonical_definition,
    digest_definition,
    digest_text,
    parse_definition,
    pinned_part,
)
from marketplace.installs.state import (
    COLUMNS,
    StoppedError,
    advance,
    apply_installation,
    from_json,
    lock_installed,
    lock_integration,
)
from marketplace.models import Installation, ListingFile

# Differences between the approved tools and those of another version.


def compare_tools(
    before: Mapping[str, JSONObject], after: Iterable[Mapping[str, Any]]
) -> list[JSONObject]:
    """Return added, changed and removed tools by name, with the fields that changed."""
    offered = {str(tool.get("name", "")): pinned_part(tool) for tool in after}
    changes = []
    for name in sorted({*before, *offered}):
        old, new = before.get(name), offered.get(name)
        if old == new or (old and new and digest_definition(old) == digest_definition(new)):
            continue
        what = "added" if old is None else "removed" if new is None else "changed"
        changes.append(
            {
                "name": name,
                "what": what,
                "fields": _changed_fields(old or {}, new or {}) if what == "changed" else [],
                "before": old,
                "after": new,
            }
        )
    return changes


def tools_digest(tools: Iterable[Mapping[str, Any]]) -> str:
    """Return the digest to which the approval of a list of tools is bound."""
    parts = sorted(canonical_definition(pinned_part(tool)) for tool in tools)
    return digest_text("\n".join(parts))


def _changed_fields(old: JSONObject, new: JSONObject) -> list[str]:
    return sorted(name for name in {*old, *new} if old.get(name) != new.get(name))


# Capabilities of listings without a server: skills, extensions, channels, voices.
# None of them is executed; files of skills are only read.

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
    return [column_values(capability) for capability in loaded.capabilities]


def capabilities_from_json(
    integration: IntegrationDescriptor, capabilities: list[JSONObject]
) -> Loaded:
    """Restore the capabilities from an installation's row."""
    return Loaded((integration,), tuple(_restore(capability) for capability in capabilities))


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
    place = next(filter(skill.is_skill_file, files), "")
    text = files.pop(place, None)
    if text is None:
        gone = Defect(integration.slug, skill.FILE_NAME, "is missing: refresh its source")
        return Loaded(defects=(gone,))
    name = str(integration.source_ref.get("name") or integration.slug)
    document = Document(file=f"{name}/{place}", value=text.decode(errors="replace"))
    try:
        skill_load = skill.read(document)
    except RefusedError as refused:
        defect = Defect(integration.slug, refused.field, refused.reason)
        return Loaded(defects=(defect,))
    capabilities = tuple(
        _adapt_skill(capability, integration, files) for capability in skill_load.capabilities
    )
    return Loaded((integration,), capabilities, tuple(document.defects))


def _adapt_skill(
    descriptor: Descriptor, integration: IntegrationDescriptor, files: dict[str, bytes]
) -> Descriptor:
    """Return the skill under its listing's name, with the texts of the other files."""
    content, hidden = descriptor.content, descriptor.hidden_characters
    for path, raw in files.items():
        if path.lower().endswith(_TEXT_SUFFIXES):
            text, more = clean_text(raw.decode(errors="replace"))
            whole = f"{content}\n\n## {path}\n\n{text.strip()}"
            if len(whole) <= DEFAULT_LIMITS.content:
                content, hidden = whole, hidden + more
    return replace(
        descriptor,
        integration=integration.slug,
        action=integration.slug,
        full_name=integration.slug,
        identifier=identifier_for("skill", integration.slug),
        content=content,
        hidden_characters=hidden,
        annotations={**descriptor.annotations, "files": sorted(files)},
        source_ref={**descriptor.source_ref, **integration.source_ref},
    )


State = Installation.State


class NothingToInstallError(Exception):
    """Listing without installable contents. The message says why."""

    code = "nothing_to_install"


def request_tool_review(installation: Installation) -> bool:
    """Wait for approval if an update's tools differ from the approved ones. Return True if so."""
    if installation.kind == Installation.Kind.INSTALL:
        return False
    rows = Definition.objects.filter(integration=installation.integration).exclude(approved_hash="")
    changes = compare_tools(
        {row.name: parse_definition(row.approved) for row in rows.order_by("pk")},
        installation.tools,
    )
    is_reviewed = installation.approved_tools == tools_digest(installation.tools)
    if not changes or is_reviewed:
        return False
    names_by_change = {
        what: [change["name"] for change in changes if change["what"] == what]
        for what in ("added", "changed", "removed")
    }
    counts = ", ".join(f"{len(names)} {what}" for what, names in names_by_change.items() if names)
    with transaction.atomic():
        lock_integration(installation.integration_id)
        words = f"Its tools differ from the approved ones: {counts}. Review them."
        advance(installation, State.NEEDS_APPROVAL, words)
        Installation.objects.filter(pk=installation.pk).update(changes=changes)
    return True


def store_tools(
    installation: Installation, *, complete: bool, defects: Sequence[ToolDefect] = ()
) -> None:
    """Store the tools of a server. Those that need a review wait for it."""
    with _atomic_step(installation):
        integration = _lock_integration(installation)
        # In one transaction with the state: a concurrent cancel waits, or has undone everything.
        advance(installation, State.STORING, gettext_noop("Storing its tools in the catalogue."))
        _switch_version(integration, installation)
        stored = store_definitions(
            integration=integration,
            tools=installation.tools,
            by=installation.by,
            complete=complete,
            defects=defects,
        )
        if installation.kind == Installation.Kind.INSTALL:
            if installation.tools and not (
                stored.approved + stored.unchanged + len(stored.waiting)
            ):
                faults = "; ".join(
                    f"{defect.field} {defect.reason}" for defect in stored.defects[:3]
                )
                raise NothingToInstallError(f"None of its tools can be used: {faults}")
            to = State.NEEDS_APPROVAL if stored.needs_review else State.EMBEDDING
            advance(installation, to, stored.summary)
            return
        approve_all(installation)
        advance(installation, State.EMBEDDING, f"{len(installation.tools)} tools are stored.")


def approve_all(installation: Installation) -> None:
    """Approve what was reviewed with the installation, and remove tools that are gone."""
    integration, by = installation.integration, installation.approved_by or installation.by
    if by is None:
        return
    readable = [row for row in list_waiting(integration) if not row.problem]
    if installation.kind != Installation.Kind.INSTALL:
        # An update shows how its tools differ. The integration's own texts wait for a review.
        readable = [row for row in readable if row.name]
    if readable:
        digests = {row.name: seen_digest(row) for row in readable}
        approve_definitions(by=by, integration=integration, digests=digests)
    gone = Definition.objects.filter(integration=integration, standing=Definition.Standing.GONE)
    forget_gone(by=by, integration=integration, names=list(gone.values_list("name", flat=True)))


def store_contents(installation: Installation) -> None:
    """Store the contents of a listing without a server, as far as the gate admits them."""
    descriptor = from_json(installation.descriptor)
    is_back = installation.kind == Installation.Kind.ROLL_BACK
    loaded = (
        capabilities_from_json(descriptor, installation.tools)
        if is_back
        else read_contents(descriptor)
    )
    if not loaded.capabilities:
        reasons = "; ".join(str(defect) for defect in loaded.defects) or "It is empty."
        raise NothingToInstallError(reasons)
    with _atomic_step(installation):
        integration = _lock_integration(installation)
        advance(installation, State.STORING, gettext_noop("Storing its contents in the catalogue."))
        _switch_version(integration, installation)
        Installation.objects.filter(pk=installation.pk).update(tools=capabilities_to_json(loaded))
        report = register(
            loaded,
            by=installation.by,
            source=integration.slug,
            origin=Definition.Origin.LISTING,
            came_from=integration.came_from,
            prune=True,
        )
        if not report.loaded:
            raise NothingToInstallError("; ".join(map(str, report.defects)))
        message = f"{report.loaded} capabilities are stored."
        if report.held and _was_seen(installation, loaded):
            approve_all(installation)
        elif report.held:
            message = f"{', '.join(report.held[:5])}: look at what was found in the text."
            advance(installation, State.NEEDS_APPROVAL, message)
            return
        advance(installation, State.EMBEDDING, message)


def _was_seen(installation: Installation, loaded: Loaded) -> bool:
    """Return True if a person has approved exactly this content."""
    approved_digest = installation.approved_tools
    return installation.approved_by_id is not None and approved_digest == tools_digest(
        capabilities_to_json(loaded)
    )


@contextmanager
def _atomic_step(installation: Installation) -> Iterator[None]:
    """Run the block in a transaction; if it fails, restore the installation's state in memory."""
    before = installation.state
    try:
        with transaction.atomic():
            yield
    except BaseException:
        installation.state = before
        raise


def _lock_integration(installation: Installation) -> Integration:
    """Lock and return the integration, in the common lock order; StoppedError if it is gone."""
    lock_installed(installation.integration_id)
    row = Integration.objects.select_for_update().filter(pk=installation.integration_id).first()
    if row is None:
        raise StoppedError
    installation.integration = row
    return row


def _switch_version(integration: Integration, installation: Installation) -> None:
    """Overwrite the row. While new texts are held for review, the row keeps its old ones."""
    described = replace(from_json(installation.descriptor), slug=integration.slug)
    (reviewed,) = review_integrations([described])
    apply_installation(integration, installation, reviewed)
    integration.save(update_fields=COLUMNS)
    origin = Definition.Origin.LISTING
    hold_integrations([described], {integration.slug: integration}, origin=origin)
