"""What comes by API while Pegboard runs: emergent tools, voice providers, skills made by users."""

from typing import Any

from catalog.formats.descriptors import Loaded
from catalog.formats.entry import Document
from catalog.formats.files import RefusedError
from catalog.formats.manifest import read_manifest
from catalog.formats.read_limits import DEFAULT_LIMITS, Limits

RUNTIME_KINDS = ("voice", "skill", "emergent-tool")


def normalize_runtime(
    value: Any, *, integration: str | None = None, limits: Limits = DEFAULT_LIMITS
) -> Loaded:
    """One capability from a request's body, in the fields of a manifest plus `content`.

    Without a capability in the answer the body was refused; the defects name the fields.
    """
    document = Document(file="request", value=value, limits=limits)
    try:
        entry = document.entry(value)
        if entry.raw("kind") is not None and entry.name("kind") not in RUNTIME_KINDS:
            raise RefusedError(f"must be one of {', '.join(RUNTIME_KINDS)}", "kind")
        one = read_manifest(entry, integration=integration)
    except RefusedError as refused:
        document.report(refused.field, refused.reason)
        return Loaded(defects=tuple(document.defects))
    return Loaded((one.integration,), (one.capability,), tuple(document.defects))
