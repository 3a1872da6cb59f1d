"""Confirmation of an installation: its connection as a person sees it, and the digest of it."""

import hashlib
import json
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from django.utils.translation import gettext as _

from acl.platform.answer_model import HIDDEN, Answer, Shown
from acl.visible_text.pieces import show_text
from catalog.formats.descriptors import IntegrationDescriptor, canonical_json
from catalog.formats.package_names import NotAPackageError, parse_package
from catalog.formats.secret_redaction import word_addresses
from catalog.registration.integration_identity import connection_facts
from catalog.servers.client.launch_rules import CommandNotAllowedError, command_digest
from marketplace.offers.offer import known_bounds

# A connection as it is shown before it is confirmed: each fact that its digest covers.
#
# Of addresses that are secrets, only the secret is not shown; the digest covers it all the same.

# A list shows so many changes, each of at most so many characters; others have their own page.
MOST_CHANGES = 8
MOST_CHARACTERS = 300
_Path = tuple[str, ...]
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class ConnectionLine(Answer):
    """A fact of a connection, as it is now and as it would be."""

    part: Annotated[str, Shown("Its place, such as `headers.X-Key`.")]
    label: Annotated[str, HIDDEN]
    before: Annotated[str, Shown("Empty if there is none.")]
    after: Annotated[str, Shown("Empty if there is none any more.")]
    is_changed: bool

    @property
    def fits_a_list(self) -> bool:
        """Return True if a list shows it in full."""
        return max(len(self.before), len(self.after), len(self.label)) <= MOST_CHARACTERS


def connection_lines(
    after: object,
    before: object | None = None,
    *,
    bounds: Iterable[str] = (),
    earlier_bounds: Iterable[str] = (),
) -> tuple[ConnectionLine, ...]:
    """Return every fact that is confirmed, with that of the connection in use.

    They are made from what the digest is made of, so none can be left out. `bounds` are those of a
    program's package.
    """
    facts = dict(_leaves(_facts(after, bounds)))
    earlier = dict(_leaves(_facts(before, earlier_bounds))) if before is not None else {}
    return tuple(
        ConnectionLine(
            part=".".join(path),
            label=_label(path),
            before=show_text(_text(path, earlier.get(path, _ABSENT))),
            after=show_text(_text(path, facts.get(path, _ABSENT))),
            is_changed=_stored(earlier.get(path, _ABSENT)) != _stored(facts.get(path, _ABSENT)),
        )
        for path in dict.fromkeys((*facts, *earlier))
    )


def fit_a_list(lines: Iterable[ConnectionLine]) -> bool:
    """Return True if a list shows everything that changes."""
    changed = [line for line in lines if line.is_changed]
    return len(changed) <= MOST_CHANGES and all(line.fits_a_list for line in changed)


def _facts(source: object, bounds: Iterable[str]) -> dict[str, Any]:
    bounds_list = list(bounds)
    return connection_facts(source) | ({"bounds": bounds_list} if bounds_list else {})


def _leaves(value: Any, path: _Path = ()) -> Iterator[tuple[_Path, Any]]:
    """Yield each value that has no parts, by its place. The lists of the first level are values."""
    parts: Iterable[tuple[str, Any]] = ()
    if isinstance(value, dict):
        parts = [(str(name), part) for name, part in value.items()]
    elif isinstance(value, list) and len(path) > 1:
        parts = [(str(number), part) for number, part in enumerate(value, start=1)]
    if not parts and not (value in ({}, []) and len(path) == 1):
        yield path, value
    for name, part in parts:
        yield from _leaves(part, (*path, name))


def _stored(value: Any) -> str:
    """Return the value as it is compared: the number 1 is not the text "1"."""
    return "" if value is _ABSENT else json.dumps(value, sort_keys=True)


def _text(path: _Path, value: Any) -> str:
    if value is _ABSENT:
        return ""
    if isinstance(value, list) and len(path) == 1:
        quoted = [shlex.quote(str(part)) if path == ("command",) else str(part) for part in value]
        return word_addresses((" " if path == ("command",) else ", ").join(quoted), deciding=True)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return word_addresses(text, deciding=True)


def _label(path: _Path) -> str:
    labels = {
        "transport": _("Transport"),
        "endpoint": _("Address"),
        "command": _("Command"),
        "required_secrets": _("Secrets"),
        "bounds": _("Bounds"),
    }
    first, rest = path[0], ".".join(path[1:])
    if first == "headers":
        return _("Header %(name)s") % {"name": rest}
    if first == "security":
        return _("Sign-in: %(part)s") % {"part": rest}
    return labels[first]


# Digests of what a person confirms before an installation.
#
# For a program that is the whole command with its requirements; for a remote server the address,
# with the secrets and headers that are sent there.


@dataclass(frozen=True, slots=True)
class CommandToConfirm:
    """A complete command and bounds with their digest, by which a person confirms them.

    Without an exact version the digest is "": the version is looked up first.
    """

    command: tuple[str, ...]
    digest: str
    bounds: tuple[str, ...] = ()

    @property
    def is_pinned(self) -> bool:
        """True if it names an exact version and can be confirmed."""
        return bool(self.digest)


def bounds_of(descriptor: IntegrationDescriptor) -> list[str]:
    """Return the bounds that the descriptor's version is known to need."""
    return known_bounds(descriptor.source_ref, descriptor.version)


def to_confirm(
    descriptor: IntegrationDescriptor, constraints: Iterable[str] | None = None
) -> CommandToConfirm:
    """Return the command of a program for confirmation; CommandNotAllowedError if it has none.

    Without `constraints`, those count that the version is known to need.
    """
    bounds = tuple(bounds_of(descriptor) if constraints is None else constraints)
    try:
        package = parse_package(descriptor.command)
    except NotAPackageError as problem:
        raise CommandNotAllowedError(str(problem)) from None
    pinned = package is None or package.version
    digest = digest_to_confirm(descriptor, bounds) if pinned else ""
    return CommandToConfirm(descriptor.command, digest, bounds)


def digest_of_target(source: object) -> str:
    """Return the digest of the target of an integration or descriptor."""
    return hashlib.sha256(canonical_json(connection_facts(source)).encode()).hexdigest()


def digest_to_confirm(descriptor: IntegrationDescriptor, constraints: Iterable[str] = ()) -> str:
    """Return the digest of package, version, arguments, variables and bounds."""
    return command_digest(descriptor.command, descriptor.required_secrets, constraints)
