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
from catalog.formats.names import full_name_for, identifier_for, short_form, slug_for
from catalog.formats.read_limits import DEFAULT_LIMITS

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
    found: list[Defect] = []
    integrations: dict[str, IntegrationDescriptor] = {}
    declared: list[Descriptor] = []
    for part in distinct:
        refused = _add_integrations(part, integrations, found)
        declared += [one for one in part.capabilities if one.integration not in refused]
    capabilities = _drop_duplicates(_with_distinct_names(declared), found)
    earlier = [*defects, *(defect for part in distinct for defect in part.defects)]
    return Loaded(
        tuple(integrations.values()), tuple(capabilities), (*earlier, *_cap_defects(found))
    )


def with_short_name(one: Descriptor) -> Descriptor:
    """Give a capability its hashed name, because another one has the plain name."""
    declared = _declared_id(one)
    name = short_form(one.kind, one.integration, one.action, declared)
    return replace(one, full_name=name, identifier=declared or identifier_for(one.kind, name))


def _with_distinct_slugs(parts: list[Loaded]) -> list[Loaded]:
    """Append the kind to the slug of every integration but one when kinds share a slug."""
    kinds: dict[str, set[IntegrationKind]] = {}
    for one in (one for part in parts for one in part.integrations if one.source_ref):
        kinds.setdefault(one.slug, set()).add(one.kind)
    keeper = {slug: min(several, key=_RANKS.index) for slug, several in kinds.items()}
    return [_move_clashing(part, keeper) for part in parts]


def _move_clashing(part: Loaded, keeper: dict[str, IntegrationKind]) -> Loaded:
    new_slugs = {
        one.slug: slug_for(f"{one.slug}-{one.kind}")
        for one in part.integrations
        if one.source_ref and keeper[one.slug] != one.kind
    }
    if not new_slugs:
        return part
    integrations = [
        replace(one, slug=new_slugs.get(one.slug, one.slug)) for one in part.integrations
    ]
    capabilities = [
        _move_capability(one, new_slugs[one.integration]) if one.integration in new_slugs else one
        for one in part.capabilities
    ]
    return replace(part, integrations=tuple(integrations), capabilities=tuple(capabilities))


def _move_capability(one: Descriptor, slug: str) -> Descriptor:
    is_alone = one.full_name == one.integration
    declared = _declared_id(one)
    action = slug if is_alone else one.action
    name = slug if is_alone else full_name_for(slug, action, kind=one.kind, declared_id=declared)
    identifier = declared or identifier_for(one.kind, name)
    return replace(one, integration=slug, action=action, full_name=name, identifier=identifier)


def _add_integrations(
    part: Loaded, integrations: dict[str, IntegrationDescriptor], found: list[Defect]
) -> set[str]:
    """Add the integrations of a part; return the slugs refused because they contradict others."""
    refused: set[str] = set()
    for one in part.integrations:
        first = integrations.setdefault(one.slug, one)
        # An integration without a source is only a name that the importing admin gave.
        if first is one or not one.source_ref:
            continue
        if not first.source_ref:
            integrations[one.slug] = one
        elif _without_source(first) != _without_source(one):
            refused.add(one.slug)
            reason = f"{one.slug} is already declared in {_file(first)}"
            found.append(Defect(_file(one), "name", reason))
    return refused


def _with_distinct_names(capabilities: list[Descriptor]) -> list[Descriptor]:
    """Give all capabilities that share a full name their hashed names."""
    claims: dict[str, set[tuple[str, ...]]] = {}
    for one in capabilities:
        # All of them change, not only the later ones, so that the order of files does not matter.
        claims.setdefault(one.full_name, set()).add(_identity(one))
    return [with_short_name(one) if len(claims[one.full_name]) > 1 else one for one in capabilities]


def _drop_duplicates(capabilities: list[Descriptor], found: list[Defect]) -> list[Descriptor]:
    by_identifier: dict[str, Descriptor] = {}
    by_name: dict[str, Descriptor] = {}
    for one in capabilities:
        first = by_identifier.get(one.identifier) or by_name.get(one.full_name)
        if first is None:
            by_identifier[one.identifier] = by_name[one.full_name] = one
        elif _without_source(first) != _without_source(one):
            reason = f"{one.identifier} is already declared in {_file(first)}"
            found.append(Defect(_file(one), "name", reason))
    return list(by_identifier.values())


def _without_source(one: Entity) -> Entity:
    return replace(one, source_ref={})


def _cap_defects(found: list[Defect]) -> list[Defect]:
    cap = DEFAULT_LIMITS.defects_per_file
    if len(found) <= cap:
        return found
    more = f"{len(found) - cap:,} more are declared twice"
    return [*found[:cap], Defect(found[cap].file, "name", more)]


def _identity(one: Descriptor) -> tuple[str, ...]:
    return (one.kind, one.integration, one.action, _declared_id(one))


def _declared_id(one: Descriptor) -> str:
    return "" if one.identifier == identifier_for(one.kind, one.full_name) else one.identifier


def _file(one: Descriptor | IntegrationDescriptor) -> str:
    return str(one.source_ref.get("file", ""))
