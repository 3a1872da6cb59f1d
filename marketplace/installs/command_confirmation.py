"""What a person confirms before a program is installed: the whole command, and what it may need."""

from collections.abc import Iterable
from dataclasses import dataclass

from catalog.formats.descriptors import IntegrationDescriptor
from catalog.formats.package_names import NotAPackageError, package_of
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
        package = package_of(descriptor.command)
    except NotAPackageError as problem:
        raise CommandNotAllowedError(str(problem)) from None
    pinned = package is None or package.version
    digest = digest_to_confirm(descriptor, constraints) if pinned else ""
    return ToConfirm(descriptor.command, digest)


def digest_to_confirm(descriptor: IntegrationDescriptor, constraints: Iterable[str] = ()) -> str:
    """What a confirmation is bound to: package, version, arguments, variables, bounds."""
    return command_digest(descriptor.command, descriptor.required_secrets, constraints)
