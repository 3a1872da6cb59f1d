"""The gate: the only way from an outside definition to a stored one.

Its two sides are types. Sources produce an `UnreviewedDefinition`; storing takes only a
`ReviewedDefinition`, which only this module can construct. So code that skips the review fails
mypy, and fails at runtime.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import InitVar, dataclass, field, replace
from typing import Any, final

from django.db import connection

from catalog.formats.descriptors import Descriptor, IntegrationDescriptor, JSONObject
from catalog.models import Definition
from catalog.trust.findings import Finding, Severity, requires_review, worst_first
from catalog.trust.scanner import (
    INSTRUCTIONS,
    MOST_CHARACTERS,
    TooDeepError,
    scan_definition,
    scan_text,
    walk_texts,
)
from catalog.trust.stored_definition import (
    INTEGRATION_TEXTS,
    PLAIN_VERSION,
    texts_of_descriptor,
    write_integration,
)
from catalog.trust.tool_list import digest_definition, digest_text

Origin = Definition.Origin
_SEAL = object()


class NotReviewedError(TypeError):
    """Code outside the gate tried to declare a definition reviewed."""


@dataclass(frozen=True, slots=True)
class UnreviewedDefinition:
    """A new or changed definition.

    `said` holds the texts as received if the descriptor is a cleaned form of them; `noticed` are
    findings of the reader.
    """

    descriptor: Descriptor
    origin: Origin
    said: JSONObject | None = None
    noticed: Sequence[Finding] = ()


@dataclass(frozen=True, slots=True)
class HeldDefinition:
    """A definition waiting for a review, and the reasons."""

    definition: UnreviewedDefinition
    findings: Sequence[Finding]

    @property
    def descriptor(self) -> Descriptor:
        """Return the cleaned form."""
        return self.definition.descriptor


@final
@dataclass(frozen=True, slots=True)
class ReviewedDefinition:
    """A reviewed definition, which may be stored and used."""

    descriptor: Descriptor
    seal: InitVar[object]
    findings: Sequence[Finding] = field(default=())

    def __post_init__(self, seal: object) -> None:
        """Raise NotReviewedError unless called by the gate."""
        if seal is not _SEAL:
            raise NotReviewedError("Only catalog.trust.gate declares a definition reviewed.")


def review(definition: UnreviewedDefinition) -> ReviewedDefinition | HeldDefinition:
    """Scan all texts of a definition, and hold it if a finding is severe."""
    findings = examine(definition)
    if requires_review(findings):
        return HeldDefinition(definition, findings)
    return ReviewedDefinition(definition.descriptor, _SEAL, findings)


def examine(definition: UnreviewedDefinition) -> list[Finding]:
    """Return all findings about a definition, the most severe first."""
    texts = definition.said
    findings = scan_definition(
        texts_of_descriptor(definition.descriptor) if texts is None else texts
    )
    removed = definition.descriptor.hidden_characters
    if texts is None and removed:
        message = f"{removed} hidden characters were removed from its texts."
        findings.append(Finding("hidden_characters", Severity.HIGH, "", message))
    return worst_first([*definition.noticed, *findings])


@final
@dataclass(frozen=True, slots=True)
class ReviewedIntegration:
    """An integration whose own texts may be stored and shown."""

    descriptor: IntegrationDescriptor
    seal: InitVar[object]

    def __post_init__(self, seal: object) -> None:
        """Raise NotReviewedError unless called by the gate."""
        if seal is not _SEAL:
            raise NotReviewedError("Only catalog.trust.gate declares an integration reviewed.")


def examine_integration(descriptor: IntegrationDescriptor) -> list[Finding]:
    """Return the findings about an integration's texts if they hold it, else []."""
    texts = {name: getattr(descriptor, name) for name in INTEGRATION_TEXTS}
    findings = worst_first(scan_definition(texts))
    return findings if requires_review(findings) else []


def examine_listing(texts: JSONObject) -> list[Finding]:
    """Return all findings about a listing's texts, the most severe first."""
    return scan_definition(texts)


def review_integration(
    descriptor: IntegrationDescriptor, *, stored: Mapping[str, str], approved: str
) -> ReviewedIntegration:
    """Admit an integration, with the `stored` texts if its own are held.

    `approved` is the digest of the texts a person approved.
    """
    if approved == digest_text(write_integration(descriptor)) or not examine_integration(
        descriptor
    ):
        return ReviewedIntegration(descriptor, _SEAL)
    is_plain = PLAIN_VERSION.match(descriptor.version) is not None
    return ReviewedIntegration(
        replace(
            descriptor,
            title=stored.get("title") or descriptor.slug,
            description=stored.get("description", ""),
            publisher=stored.get("publisher", ""),
            # Show the installed version even if the other texts are held: a number is harmless.
            version=descriptor.version if is_plain else stored.get("version", ""),
            licence=stored.get("licence", ""),
            homepage=stored.get("homepage", ""),
        ),
        _SEAL,
    )


def admit(definition: UnreviewedDefinition, *, pinned: str) -> ReviewedDefinition:
    """Admit a definition that a person approved.

    `pinned` is the digest of the approved text, which must match.
    """
    if not pinned or pinned != digest_of_definition(definition):
        raise NotReviewedError("This is not the text that was approved.")
    return ReviewedDefinition(definition.descriptor, _SEAL)


def digest_of_definition(definition: UnreviewedDefinition) -> str:
    """Return the digest that an approval is bound to."""
    if definition.said is None:
        return definition.descriptor.definition_hash
    return digest_definition(definition.said)


def admit_for_measuring(descriptors: Sequence[Descriptor]) -> list[ReviewedDefinition]:
    """Admit everything into a scratch catalogue, which no model and no person reads."""
    _require_scratch()
    return [ReviewedDefinition(descriptor, _SEAL) for descriptor in descriptors]


def admit_integrations_for_measuring(
    descriptors: Sequence[IntegrationDescriptor],
) -> list[ReviewedIntegration]:
    """Admit all integrations into a scratch catalogue."""
    _require_scratch()
    return [ReviewedIntegration(descriptor, _SEAL) for descriptor in descriptors]


@contextmanager
def marked_as_reviewed() -> Iterator[None]:
    """Keep the state of rows whose texts change within this transaction.

    Without this mark, a trigger quarantines capabilities whose text changes
    (catalog/migrations/0013_gate.py).
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(current_setting('pegboard.gate', true), '')")
        before = cursor.fetchone()[0]
        cursor.execute("SELECT set_config('pegboard.gate', 'open', true)")
    yield
    # Not in a finally block: after a failure, the rollback resets the setting.
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('pegboard.gate', %s, true)", [before])


def _require_scratch() -> None:
    """Raise unless this connection's catalogue consists of temporary tables."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relpersistence = 't' FROM pg_class WHERE oid = 'catalog_capability'::regclass"
        )
        if not cursor.fetchone()[0]:
            raise NotReviewedError("Only a scratch catalogue takes definitions without a review.")


# Texts of servers that nobody reviews: what they ask, announce and say while a call runs.
#
# Each gate hands over all that it judges, and every text in it is read, keys included: which fields
# a model or a person gets to see is up to each client.

HELD_BACK = "[A text of the server was held back: it looks like an attack.]"
_ENCODED = re.compile(r"(?:data:[\w.+/;=-]{0,200},)?([A-Za-z0-9+/_-]{64,}={0,2})\s*")
_LOOKED_AT = 8_192  # of encoded data, which is no text


def must_be_held_back(value: Any, *, is_prompt: bool = False) -> bool:
    """Return True if a text in the value would need a review, or if there is too much to read.

    A prompt consists of instructions, so it is judged as a skill's text.
    """
    # Held back where it is not read to its end: an attack would only have to stand behind it.
    remaining = MOST_CHARACTERS
    try:
        for text in texts_in(value):
            remaining -= len(text)
            # Not its place: what a server calls a field must not make it read more leniently.
            if remaining < 0 or requires_review(scan_text(text, INSTRUCTIONS if is_prompt else "")):
                return True
    except TooDeepError:
        return True
    return False


def texts_in(value: Any) -> Iterator[str]:
    """Yield every text, keys included; of encoded data the start, and the text that it encodes.

    Raises TooDeepError when it comes to values that are nested too deep.
    """
    for _, text in walk_texts(value):
        encoded = _ENCODED.fullmatch(text)
        yield text[:_LOOKED_AT] if encoded else text
        if encoded and (decoded := _decoded(encoded[1])):
            yield decoded


def _decoded(data: str) -> str:
    """Return the text that the data encodes; "" for a picture or a sound."""
    plain = data.rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
