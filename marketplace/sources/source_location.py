"""Where a source may be: a public https address, or a path below a folder that the operator has
opened. Pure but for looking at paths; nothing goes out."""

from pathlib import Path

from django.conf import settings

from catalog.formats.files import RefusedError
from catalog.formats.secret_redaction import redact_url
from catalog.servers.net.address_check import AllowedHosts, check_address
from marketplace.models import Source
from marketplace.sources.repositories import archive_of
from marketplace.sources.source_problem import LocationNotAllowedError

# What these kinds hold is more than one document: it comes as an archive.
FOLDERS = (Source.Kind.DOCKER, Source.Kind.SKILLS, Source.Kind.PLUGINS)


def check_location(kind: str, location: str) -> None:
    """Raise where a source of this kind cannot be there: EndpointNotAllowedError,
    LocationNotAllowedError, or RefusedError with what is missing."""
    if location.startswith("/"):
        allowed_path(location)
        return
    check_address(location, AllowedHosts.from_settings())
    if redact_url(location) != location:
        raise RefusedError("holds a secret, and sources are read without any")
    is_document = kind == Source.Kind.PLUGINS and location.partition("?")[0].endswith(".json")
    if kind in FOLDERS and not is_document:
        archive_of(location)


def allowed_path(location: str) -> Path:
    """The path with all links resolved, when it is below a folder that was opened."""
    try:
        path = Path(location).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        raise LocationNotAllowedError from None
    if not any(path.is_relative_to(Path(one).resolve()) for one in settings.PEGBOARD_SOURCE_DIRS):
        raise LocationNotAllowedError
    return path
