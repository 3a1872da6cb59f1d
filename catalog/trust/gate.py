"""The gate: the one way from a definition that somebody else wrote to one that may be stored.

Its two sides are types. Every source gives an `UnreviewedDefinition`; storing takes only a
`ReviewedDefinition`, which nothing outside this module can construct. So code that forgets the
review does not pass mypy, and fails when it runs.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import InitVar, dataclass, field, replace
from typing import final

from django.db import connection

from catalog.descriptors import Descriptor, IntegrationDescriptor, JSONObject
from catalog.models import Definition
from catalog.trust.findings import Finding, Severity, keeps_out, worst_first
from catalog.trust.pinning import digest_of, written
from catalog.trust.scanning import scan_definition
from catalog.trust.written import (
    INTEGRATION_TEXTS,
    PLAIN_VERSION,
    texts_of_descriptor,
    write_integration,
)

Origin = Definition.Origin
_SEAL = object()


class NotReviewedError(TypeError):
    """Something outside the gate has tried to declare a definition reviewed."""


@dataclass(frozen=True, slots=True)
class UnreviewedDefinition:
    """A new or changed definition. `said` has its texts as they came, where the descriptor is a
    cleaned form of them; `noticed` is what was found while it was read."""

    descriptor: Descriptor
    origin: Origin
    said: JSONObject | None = None
    noticed: Sequence[Finding] = ()


@dataclass(frozen=True, slots=True)
class HeldDefinition:
    """A definition that waits for a person, with the reasons."""

    definition: UnreviewedDefinition
    findings: Sequence[Finding]

    @property
    def descriptor(self) -> Descriptor:
        """The definition's cleaned form."""
        return self.definition.descriptor


@final
@dataclass(frozen=True, slots=True)
class ReviewedDefinition:
    """A definition that may be stored and used."""

    descriptor: Descriptor
    seal: InitVar[object]
    findings: Sequence[Finding] = field(default=())

    def __post_init__(self, seal: object) -> None:
        """Refuse everyone but the gate."""
        if seal is not _SEAL:
            raise NotReviewedError("Only catalog.trust.gate declares a definition reviewed.")


def review(definition: UnreviewedDefinition) -> ReviewedDefinition | HeldDefinition:
    """Scan every text of a definition; hold it where a finding is serious."""
    findings = examine(definition)
    if keeps_out(findings):
        return HeldDefinition(definition, findings)
    return ReviewedDefinition(definition.descriptor, _SEAL, findings)


def examine(definition: UnreviewedDefinition) -> list[Finding]:
    """Return everything a person should know about a definition, the worst first."""
    said = definition.said
    found = scan_definition(texts_of_descriptor(definition.descriptor) if said is None else said)
    removed = definition.descriptor.hidden_characters
    if said is None and removed:
        told = f"{removed} hidden characters were removed from its texts."
        found.append(Finding("hidden_characters", Severity.HIGH, "", told))
    return worst_first([*definition.noticed, *found])


@final
@dataclass(frozen=True, slots=True)
class ReviewedIntegration:
    """An integration whose own texts may be stored and shown."""

    descriptor: IntegrationDescriptor
    seal: InitVar[object]

    def __post_init__(self, seal: object) -> None:
        """Refuse everyone but the gate."""
        if seal is not _SEAL:
            raise NotReviewedError("Only catalog.trust.gate declares an integration reviewed.")


def examine_integration(descriptor: IntegrationDescriptor) -> list[Finding]:
    """Return the findings about an integration's own texts, if one of them holds it."""
    said = {name: getattr(descriptor, name) for name in INTEGRATION_TEXTS}
    found = worst_first(scan_definition(said))
    return found if keeps_out(found) else []


def examine_listing(texts: JSONObject) -> list[Finding]:
    """Return everything an admin should know about the texts of a listing, the worst first."""
    return scan_definition(texts)


def review_integration(
    descriptor: IntegrationDescriptor, *, stored: Mapping[str, str], approved: str
) -> ReviewedIntegration:
    """Let an integration through with its own texts, or, where they are held, with those that are
    `stored`. `approved` is the digest of the texts that a person has approved."""
    if approved == digest_of(write_integration(descriptor)) or not examine_integration(descriptor):
        return ReviewedIntegration(descriptor, _SEAL)
    is_plain = re.match(PLAIN_VERSION, descriptor.version) is not None
    return ReviewedIntegration(
        replace(
            descriptor,
            title=stored.get("title") or descriptor.slug,
            description=stored.get("description", ""),
            publisher=stored.get("publisher", ""),
            # What is installed has this version, whatever its description says.
            version=descriptor.version if is_plain else stored.get("version", ""),
            licence=stored.get("licence", ""),
            homepage=stored.get("homepage", ""),
        ),
        _SEAL,
    )


def admit(definition: UnreviewedDefinition, *, pinned: str) -> ReviewedDefinition:
    """Let a definition through that a person has approved.

    `pinned` is the digest of the approved text; it must be that of this definition.
    """
    if not pinned or pinned != digest_of_definition(definition):
        raise NotReviewedError("This is not the text that was approved.")
    return ReviewedDefinition(definition.descriptor, _SEAL)


def digest_of_definition(definition: UnreviewedDefinition) -> str:
    """Return what an approval of the definition is bound to."""
    if definition.said is None:
        return definition.descriptor.definition_hash
    return digest_of(written(definition.said))


def admit_for_measuring(descriptors: Sequence[Descriptor]) -> list[ReviewedDefinition]:
    """Let everything through into a scratch catalogue, which no model and no person reads."""
    _require_scratch()
    return [ReviewedDefinition(one, _SEAL) for one in descriptors]


def admit_integrations_for_measuring(
    descriptors: Sequence[IntegrationDescriptor],
) -> list[ReviewedIntegration]:
    """Do the same for integrations."""
    _require_scratch()
    return [ReviewedIntegration(one, _SEAL) for one in descriptors]


@contextmanager
def marked_as_reviewed() -> Iterator[None]:
    """Within this transaction, let changed texts keep their state.

    Without the mark, the database quarantines a capability whose text changes, whoever changes it
    (catalog/migrations/0013_gate.py).
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(current_setting('pegboard.gate', true), '')")
        before = cursor.fetchone()[0]
        cursor.execute("SELECT set_config('pegboard.gate', 'open', true)")
    yield
    # After a failure the transaction's end takes the mark away.
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('pegboard.gate', %s, true)", [before])


def _require_scratch() -> None:
    """Raise unless this connection's catalogue is in temporary tables (catalog/scratch.py)."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relpersistence = 't' FROM pg_class WHERE oid = 'catalog_capability'::regclass"
        )
        if not cursor.fetchone()[0]:
            raise NotReviewedError("Only a scratch catalogue takes definitions without a review.")
