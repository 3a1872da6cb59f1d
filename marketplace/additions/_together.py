"""Several servers of one configuration: what each needs, and their installation in one go."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.contrib.auth.models import Group, User
from django.utils.translation import gettext as _

from acl.models import Space
from catalog.formats.files import DEFAULT_LIMITS, RefusedError
from catalog.formats.loose_text import parse_loose, unwrap
from catalog.formats.readers.mcp_json import names_of_server
from catalog.formats.secret_redaction import find_placeholders
from catalog.servers.client.launch_rules import CommandNotAllowedError
from catalog.servers.net.address_check import EndpointNotAllowedError
from catalog.servers.secrets.encryption_keys import SecretUnavailableError
from catalog.servers.secrets.store import UnusableSecretError
from marketplace.installs.preparation import Prepared, Variable, prepare_install
from marketplace.installs.requests import (
    AlreadyInstalledError,
    ListingHeldError,
    NameTakenError,
    NetworkWish,
    NotPermittedError,
    OtherRequestError,
    TargetChangedError,
    start_install,
)
from marketplace.listings.details import listing_details
from marketplace.listings.viewer import Viewer
from marketplace.models import Addition, Installation, Listing

MOST_TOGETHER = 60  # servers, and what was left out
LONGEST_VALUE = 8_000
_DEEPEST = 12
# What files have in place of a secret: <token>, YOUR_KEY, xxx.
_STAND_IN = re.compile(
    r"\A<.*>\Z|\A\[.*\]\Z|\Ax{3,}\Z|\A\*{3,}\Z|\byour?[-_ ]|\.\.\.\Z", re.IGNORECASE
)
_REFUSALS = (
    *(CommandNotAllowedError, EndpointNotAllowedError, ListingHeldError, OtherRequestError),
    *(TargetChangedError, NameTakenError, SecretUnavailableError, UnusableSecretError),
)
_UNDER_WAY = (*Installation.WORKING, Installation.State.CONFIGURE)


@dataclass(frozen=True, slots=True)
class AddedServer:
    """A server of a configuration: what it needs, or how far its installation is."""

    addition: Addition
    listing: Listing | None = None
    prepared: Prepared | None = None  # None once it is installed, or being installed
    installation: Installation | None = None

    @property
    def is_ready(self) -> bool:
        """Return True if it can be installed from here."""
        prepared = self.prepared
        return prepared is not None and not (prepared.problem or prepared.gaps)

    @property
    def is_under_way(self) -> bool:
        """Return True while its installation changes by itself."""
        return self.installation is not None and self.installation.state in _UNDER_WAY

    @property
    def notes(self) -> list[str]:
        """Return what was left out and why; that nothing was contacted is said of all."""
        lines = self.addition.message.splitlines()
        return lines[1:] if self.listing else lines

    @property
    def slug(self) -> str:
        """Return the slug of its listing."""
        return self.listing.slug if self.listing else ""


@dataclass(frozen=True, slots=True)
class SharedVariable:
    """A secret or setting, asked once for all servers with the same name and value of it."""

    variable: Variable
    value: str
    is_offered: bool  # by the pasted file
    slugs: tuple[str, ...]
    titles: tuple[str, ...]

    @property
    def targets(self) -> str:
        """Return the servers that get the answer, for the form."""
        return " ".join(self.slugs)


def find_together(text: str) -> list[Addition]:
    """Return what was added together, by public ids with commas, in this order; [] for others."""
    try:
        keys = [UUID(part) for part in text.split(",")[:MOST_TOGETHER]]
    except ValueError:
        return []
    rows = {row.public_id: row for row in Addition.objects.filter(public_id__in=keys)}
    return [rows[key] for key in keys if key in rows]


def read_parts(by: User, additions: Iterable[Addition]) -> list[AddedServer]:
    """Return what was added together, each with what it needs or its installation."""
    parts = []
    for row in additions:
        details = listing_details(viewer=Viewer(is_admin=True), slug=row.listing)
        if details is None:
            parts.append(AddedServer(row))
            continue
        listing = details.listing
        installations = Installation.objects.filter(integration__listing=listing.slug)
        latest = installations.select_related("integration").order_by("-created_at", "-pk").first()
        is_new = not details.is_taken and latest is None
        prepared = prepare_install(by=by, listing=listing) if is_new else None
        parts.append(AddedServer(row, listing, prepared, latest))
    return parts


def ask_for(parts: Iterable[AddedServer], text: str = "") -> list[SharedVariable]:
    """Return what the servers need; `text` is the pasted file, whose values are offered.

    The values are in no row: they are sent to the person's own page, and back if they are wanted.
    """
    questions: dict[tuple[Any, ...], SharedVariable] = {}
    text = unwrap(text)
    try:
        value = parse_loose(text if text[:1] != '"' else f"{{{text}}}", limits=DEFAULT_LIMITS)
    except RefusedError:
        value = None
    for part in parts:
        if part.prepared is None or part.listing is None or not part.is_ready:
            continue
        name = str(part.prepared.descriptor.source_ref.get("name") or "")
        for variable in part.prepared.variables:
            if variable.refusal:
                continue
            offered = next(
                (
                    words
                    for key, words in _texts(_find_server(value, name))
                    if key.lower() == variable.name.lower()
                    and 0 < len(words) <= LONGEST_VALUE
                    and not (find_placeholders(words) or _STAND_IN.search(words))
                ),
                "",
            )
            key = (variable.name, offered or variable.default, variable.is_secret)
            question = questions.get(key)
            if question is None:
                question = SharedVariable(
                    variable, offered or variable.default, bool(offered), (), ()
                )
            questions[key] = replace(
                question,
                slugs=(*question.slugs, part.slug),
                titles=(*question.titles, part.listing.title),
            )
    return list(questions.values())


@dataclass(frozen=True, slots=True)
class Order:
    """Choices of a person for all of them: answers by listing and name, receivers, consent."""

    answers: Mapping[str, Mapping[str, str]]
    confirmed: Mapping[str, str]
    groups: tuple[Group, ...]
    spaces: tuple[Space, ...]
    key: str


def install_together(*, by: User, parts: Iterable[AddedServer], order: Order) -> dict[str, str]:
    """Start the installations; return why a listing's could not be started, by its title.

    Each is an installation of its own: what is wrong with one stops no other.
    """
    problems: dict[str, str] = {}
    for part in parts:
        if part.prepared is None or part.listing is None:
            continue
        confirmed = order.confirmed.get(part.slug, "")
        if part.prepared.digest and confirmed != part.prepared.digest:
            problems[part.listing.title] = _("The command has changed. Review it again.")
            continue
        values = {name: value for name, value in order.answers.get(part.slug, {}).items() if value}
        try:
            start_install(
                by=by,
                descriptor=part.prepared.descriptor,
                groups=order.groups,
                spaces=order.spaces,
                secrets=values,
                confirmed=confirmed,
                network=NetworkWish(part.prepared.proposed_hosts),
                idempotency_key=f"{order.key}-{part.slug}"[:255],
            )
        except NotPermittedError:
            problems[part.listing.title] = _("You are not allowed to install this.")
        except _REFUSALS as refused:
            problems[part.listing.title] = str(refused)
        except AlreadyInstalledError:
            problems[part.listing.title] = _("It is already installed, or being installed.")
    return problems


def _find_server(value: Any, name: str, depth: int = 0) -> Any:
    """Return what a file says of the server with this name, or None."""
    if depth > _DEEPEST:
        return None
    if isinstance(value, dict):
        if isinstance(value.get(name), dict):
            return value[name]
        inner: Iterable[Any] = value.values()
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, dict) and name in names_of_server(item):
                return item
        inner = value
    else:
        return None
    matches = (_find_server(item, name, depth + 1) for item in inner)
    return next((match for match in matches if match is not None), None)


def _texts(value: Any, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield each text of a server's part of the file with its key: variables and headers, too."""
    if not isinstance(value, dict) or depth > _DEEPEST:
        return
    for key, inner in value.items():
        if isinstance(inner, str):
            yield str(key), inner.strip()
        yield from _texts(inner, depth + 1)
