"""Digests of what a person confirms before an installation.

For a program that is the whole command with its requirements; for a remote server the address,
with the secrets and headers that are sent there.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from catalog.formats.descriptors import IntegrationDescriptor, canonical_json
from catalog.formats.package_names import NotAPackageError, parse_package
from catalog.registration.integration_identity import connection_facts
from catalog.servers.client.launch_rules import CommandNotAllowedError, command_digest
from marketplace.offers.package_test import known_bounds


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
