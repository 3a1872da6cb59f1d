"""Allowed locations of sources: public https URLs, and paths below PEGBOARD_SOURCE_DIRS."""

from pathlib import Path

from django.conf import settings

from catalog.formats.files import RefusedError
from catalog.formats.secret_redaction import redact_url
from catalog.servers.net.address_check import AllowedHosts, check_address
from marketplace.models import Source
from marketplace.sources.repositories import archive_url
from marketplace.sources.source_problem import LocationNotAllowedError

# These kinds consist of several files, so over HTTP they come as an archive.
ARCHIVED_KINDS = (Source.Kind.DOCKER, Source.Kind.SKILLS, Source.Kind.PLUGINS)


def check_location(kind: str, location: str) -> None:
    """Raise if a source of this kind cannot be at this location. Sends no request.

    Raises EndpointNotAllowedError, LocationNotAllowedError, or RefusedError with the reason.
    """
    if location.startswith("/"):
        resolve_allowed_path(location)
        return
    check_address(location, AllowedHosts.from_settings())
    if redact_url(location) != location:
        raise RefusedError("holds a secret, and sources are read without any")
    is_document = kind == Source.Kind.PLUGINS and location.partition("?")[0].endswith(".json")
    if kind in ARCHIVED_KINDS and not is_document:
        archive_url(location)


def resolve_allowed_path(location: str) -> Path:
    """Return the resolved path if it is below an allowed folder; else LocationNotAllowedError."""
    # Links are resolved first, so that none can lead out of the allowed folder.
    try:
        path = Path(location).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        raise LocationNotAllowedError from None
    if not any(path.is_relative_to(Path(one).resolve()) for one in settings.PEGBOARD_SOURCE_DIRS):
        raise LocationNotAllowedError
    return path
