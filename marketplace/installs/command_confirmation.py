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


@dataclass(frozen=True, slots=True)
class CommandToConfirm:
    """A complete command with its digest, by which a person confirms it.

    Without an exact version the digest is "": the version is looked up first.
    """

    command: tuple[str, ...]
    digest: str

    @property
    def is_pinned(self) -> bool:
        """True if it names an exact version and can be confirmed."""
        return bool(self.digest)


def to_confirm(
    descriptor: IntegrationDescriptor, constraints: Iterable[str] = ()
) -> CommandToConfirm:
    """Return the command of a program for confirmation; CommandNotAllowedError if it has none."""
    try:
        package = parse_package(descriptor.command)
    except NotAPackageError as problem:
        raise CommandNotAllowedError(str(problem)) from None
    pinned = package is None or package.version
    digest = digest_to_confirm(descriptor, constraints) if pinned else ""
    return CommandToConfirm(descriptor.command, digest)


def digest_of_target(one: object) -> str:
    """Return the digest of the target of an integration or descriptor."""
    return hashlib.sha256(canonical_json(connection_facts(one)).encode()).hexdigest()


def digest_to_confirm(descriptor: IntegrationDescriptor, constraints: Iterable[str] = ()) -> str:
    """Return the digest of package, version, arguments, variables and bounds."""
    return command_digest(descriptor.command, descriptor.required_secrets, constraints)
