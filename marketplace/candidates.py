"""What an installation would make of its integration: worked out beside the row that serves."""

from collections.abc import Mapping
from copy import copy
from dataclasses import asdict, fields
from typing import Any

from catalog.descriptors import IntegrationDescriptor, JSONObject
from catalog.models import Integration
from catalog.trust.gate import ReviewedIntegration
from catalog.trust.written import INTEGRATION_TEXTS
from marketplace.models import Installation

_FIELDS = [field.name for field in fields(IntegrationDescriptor)]
_LISTS = ("command", "required_secrets")
# What is written over the row; the slug is its name, and stays.
COLUMNS = [
    *(name for name in _FIELDS if name != "slug"),
    *("command_digest", "package", "listing", "unconfirmed", "updated_at"),
]


def written(descriptor: IntegrationDescriptor) -> JSONObject:
    """The descriptor as a row keeps it."""
    return asdict(descriptor) | {name: list(getattr(descriptor, name)) for name in _LISTS}


def read_back(values: Mapping[str, Any]) -> IntegrationDescriptor:
    """The descriptor that was written."""
    kept = {"slug": "", "kind": "mcp", "title": ""} | {
        name: values[name] for name in _FIELDS if name in values
    }
    return IntegrationDescriptor(
        **{**kept, **{name: tuple(kept.get(name) or ()) for name in _LISTS}}
    )


def candidate_of(installation: Installation) -> Integration:
    """The integration as it would be, not saved: it may be tried, and nobody is served by it."""
    candidate = copy(installation.integration)
    # A server is reached without any text about it, and those of a candidate nobody has reviewed.
    _put(candidate, installation, besides={"slug", *INTEGRATION_TEXTS})
    candidate.enabled = False
    return candidate


def put_into(
    integration: Integration, installation: Installation, reviewed: ReviewedIntegration
) -> None:
    """Make the row say what the installation is about, in texts that have passed the gate."""
    put_texts(integration, reviewed)
    _put(integration, installation, besides={"slug", *INTEGRATION_TEXTS})


def put_texts(integration: Integration, reviewed: ReviewedIntegration) -> None:
    """Give the row the integration's own texts."""
    for name in INTEGRATION_TEXTS:
        setattr(integration, name, getattr(reviewed.descriptor, name))


def _put(integration: Integration, installation: Installation, *, besides: set[str]) -> None:
    for name, value in installation.descriptor.items():
        if name not in besides:
            setattr(integration, name, value)
    integration.command_digest = installation.command_digest
    integration.package = installation.package
    # Whoever began the installation has seen and confirmed what it reaches or starts.
    integration.unconfirmed = False
    integration.listing = str(installation.descriptor.get("source_ref", {}).get("listing") or "")
