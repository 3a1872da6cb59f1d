"""Capabilities created by API at runtime: emergent tools, voice providers, users' skills."""

from typing import Any

from catalog.formats.descriptors import Loaded
from catalog.formats.entry import Document
from catalog.formats.files import DEFAULT_LIMITS, Limits, RefusedError
from catalog.formats.readers.manifest import read_manifest

RUNTIME_KINDS = ("voice", "skill", "emergent-tool")


def normalize_runtime(
    value: Any, *, integration: str | None = None, limits: Limits = DEFAULT_LIMITS
) -> Loaded:
    """Read one capability from a request body: the fields of a manifest plus `content`.

    A result without a capability means that the body was refused; its defects name the fields.
    """
    document = Document(file="request", value=value, limits=limits)
    try:
        entry = document.entry(value)
        if entry.raw("kind") is not None and entry.name("kind") not in RUNTIME_KINDS:
            raise RefusedError(f"must be one of {', '.join(RUNTIME_KINDS)}", "kind")
        declared = read_manifest(entry, integration=integration)
    except RefusedError as refused:
        document.report(refused.field, refused.reason)
        return Loaded(defects=tuple(document.defects))
    return Loaded((declared.integration,), (declared.capability,), tuple(document.defects))
