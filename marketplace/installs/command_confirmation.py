"""What a person confirms before anything is installed: the whole command of a program with what it
may need, or the address of a server with the secrets and headers that are sent there."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from catalog.formats.descriptors import IntegrationDescriptor, canonical_json
from catalog.formats.package_names import NotAPackageError, parse_package
from catalog.registration.integration_identity import connection_facts
from catalog.servers.client.launch_rules import CommandNotAllowedError, command_digest


@dataclass(frozen=True, slots=True)
class ToConfirm:
    """The command as it is to be shown, untruncated, and the digest that says it was seen.

    Without an exact version there is no digest: it is looked up first, and then shown.
    """

    command: tuple[str, ...]
    digest: str

    @property
    def is_pinned(self) -> bool:
        """Whether it can be confirmed as it is."""
        return bool(self.digest)


def to_confirm(descriptor: IntegrationDescriptor, constraints: Iterable[str] = ()) -> ToConfirm:
    """What has to be shown for a program; CommandNotAllowedError for what is no command."""
    try:
        package = parse_package(descriptor.command)
    except NotAPackageError as problem:
        raise CommandNotAllowedError(str(problem)) from None
    pinned = package is None or package.version
    digest = digest_to_confirm(descriptor, constraints) if pinned else ""
    return ToConfirm(descriptor.command, digest)


def digest_of_target(one: object) -> str:
    """Return the digest that says that an integration's or a descriptor's target was seen."""
    return hashlib.sha256(canonical_json(connection_facts(one)).encode()).hexdigest()


def digest_to_confirm(descriptor: IntegrationDescriptor, constraints: Iterable[str] = ()) -> str:
    """What a confirmation is bound to: package, version, arguments, variables, bounds."""
    return command_digest(descriptor.command, descriptor.required_secrets, constraints)
