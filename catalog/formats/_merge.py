"""Merges results of several files, so that slugs, full names and ids are unique.

Which of two gets the plain name never depends on their order. Equal declarations are kept once; a
conflicting one is left out and reported.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from catalog.formats.descriptors import (
    Defect,
    Descriptor,
    IntegrationDescriptor,
    IntegrationKind,
    Loaded,
)
from catalog.formats.files import DEFAULT_LIMITS
from catalog.formats.names import full_name_for, identifier_for, short_form, slug_for

Entity = TypeVar("Entity", Descriptor, IntegrationDescriptor)
# If kinds share a slug, the first in this list keeps it: most calls use a server's slug.
_RANKS: tuple[IntegrationKind, ...] = (
    "builtin",
    "mcp",
    "openapi",
    "catalog",
    "channel",
    "manifest",
    "voice",
    "extension",
    "skill",
)


def merge(parts: Iterable[Loaded], defects: Iterable[Defect] = ()) -> Loaded:
    """Merge several results, and report the conflicts between them."""
    distinct = _with_distinct_slugs(list(parts))
    conflicts: list[Defect] = []
    integrations: dict[str, IntegrationDescriptor] = {}
    declared: list[Descriptor] = []
    for part in distinct:
        refused = _add_integrations(part, integrations, conflicts)
        declared += [
            capability for capability in part.capabilities if capability.integration not in refused
        ]
    capabilities = _drop_duplicates(_with_distinct_names(declared), conflicts)
    earlier = [*defects, *(defect for part in distinct for defect in part.defects)]
    return Loaded(
        tuple(integrations.values()), tuple(capabilities), (*earlier, *_cap_defects(conflicts))
    )


def with_short_name(capability: Descriptor) -> Descriptor:
    """Give a capability its hashed name, because another one has the plain name."""
    declared = _declared_id(capability)
    name = short_form(capability.kind, capability.integration, capability.action, declared)
    return replace(
        capability, full_name=name, identifier=declared or identifier_for(capability.kind, name)
    )


def _with_distinct_slugs(parts: list[Loaded]) -> list[Loaded]:
    """Append the kind to the slug of every integration but one when kinds share a slug."""
    kinds: dict[str, set[IntegrationKind]] = {}
    for integration in (
        integration for part in parts for integration in part.integrations if integration.source_ref
    ):
        kinds.setdefault(integration.slug, set()).add(integration.kind)
    keeper = {slug: min(several, key=_RANKS.index) for slug, several in kinds.items()}
    return [_move_clashing(part, keeper) for part in parts]


def _move_clashing(part: Loaded, keeper: dict[str, IntegrationKind]) -> Loaded:
    new_slugs = {
        descriptor.slug: slug_for(f"{descriptor.slug}-{descriptor.kind}")
        for descriptor in part.integrations
        if descriptor.source_ref and keeper[descriptor.slug] != descriptor.kind
    }
    if not new_slugs:
        return part
    # One file can have both: a plugin, and the server of its name, which keeps it.
    integrations = [
        replace(descriptor, slug=new_slugs[descriptor.slug])
        if descriptor.source_ref and keeper[descriptor.slug] != descriptor.kind
        else descriptor
        for descriptor in part.integrations
    ]
    capabilities = [
        _move_capability(descriptor, new_slugs[descriptor.integration])
        if descriptor.integration in new_slugs
        else descriptor
        for descriptor in part.capabilities
    ]
    return replace(part, integrations=tuple(integrations), capabilities=tuple(capabilities))


def _move_capability(capability: Descriptor, slug: str) -> Descriptor:
    is_alone = capability.full_name == capability.integration
    declared = _declared_id(capability)
    action = slug if is_alone else capability.action
    name = (
        slug
        if is_alone
        else full_name_for(slug, action, kind=capability.kind, declared_id=declared)
    )
    identifier = declared or identifier_for(capability.kind, name)
    return replace(
        capability, integration=slug, action=action, full_name=name, identifier=identifier
    )


def _add_integrations(
    part: Loaded, integrations: dict[str, IntegrationDescriptor], conflicts: list[Defect]
) -> set[str]:
    """Add the integrations of a part; return the slugs refused because they contradict others."""
    refused: set[str] = set()
    for integration in part.integrations:
        first = integrations.setdefault(integration.slug, integration)
        # An integration without a source is only a name that the importing admin gave.
        if first is integration or not integration.source_ref:
            continue
        if not first.source_ref:
            integrations[integration.slug] = integration
        elif _without_source(first) != _without_source(integration):
            refused.add(integration.slug)
            reason = f"{integration.slug} is already declared in {_file(first)}"
            conflicts.append(Defect(_file(integration), "name", reason))
    return refused


def _with_distinct_names(capabilities: list[Descriptor]) -> list[Descriptor]:
    """Give all capabilities that share a full name their hashed names."""
    claims: dict[str, set[tuple[str, ...]]] = {}
    for capability in capabilities:
        # All of them change, not only the later ones, so that the order of files does not matter.
        claims.setdefault(capability.full_name, set()).add(
            (capability.kind, capability.integration, capability.action, _declared_id(capability))
        )
    return [
        with_short_name(capability) if len(claims[capability.full_name]) > 1 else capability
        for capability in capabilities
    ]


def _drop_duplicates(capabilities: list[Descriptor], conflicts: list[Defect]) -> list[Descriptor]:
    by_identifier: dict[str, Descriptor] = {}
    by_name: dict[str, Descriptor] = {}
    for capability in capabilities:
        first = by_identifier.get(capability.identifier) or by_name.get(capability.full_name)
        if first is None:
            by_identifier[capability.identifier] = by_name[capability.full_name] = capability
        elif _without_source(first) != _without_source(capability):
            reason = f"{capability.identifier} is already declared in {_file(first)}"
            conflicts.append(Defect(_file(capability), "name", reason))
    return list(by_identifier.values())


def _without_source(entity: Entity) -> Entity:
    return replace(entity, source_ref={})


def _cap_defects(conflicts: list[Defect]) -> list[Defect]:
    cap = DEFAULT_LIMITS.defects_per_file
    if len(conflicts) <= cap:
        return conflicts
    more = f"{len(conflicts) - cap:,} more are declared twice"
    return [*conflicts[:cap], Defect(conflicts[cap].file, "name", more)]


def _declared_id(capability: Descriptor) -> str:
    return (
        ""
        if capability.identifier == identifier_for(capability.kind, capability.full_name)
        else capability.identifier
    )


def _file(descriptor: Descriptor | IntegrationDescriptor) -> str:
    return str(descriptor.source_ref.get("file", ""))
