"""Launch commands of packages, as an admin sees and confirms them. Nothing is run here."""

import re

from catalog.formats.entry import Entry
from catalog.formats.package_names import NotAPackageError, Package, parse_package
from catalog.formats.secret_redaction import redact_arguments

_IDENTIFIER = re.compile(r"[A-Za-z0-9][\w./:@+-]*+")
_NPM_IDENTIFIER = re.compile(r"[@A-Za-z0-9][\w./:@+-]*+")


def launch_command(package: Entry) -> tuple[str, ...]:
    """Return the command line, or () if no known launcher starts the package."""
    registry = package.name("registryType", "registryName").lower()
    identifier = package.name("identifier", "name")
    if is_bundle(package):
        # The command of a bundle, whose registry has to tell the digest of its file.
        address = package.text("identifier")
        command = Package("mcpb", address, package.name("fileSha256").lower()).command()
        try:
            parse_package(command)
        except NotAPackageError:
            return ()
        return safe_command(package, command)
    launcher = _launcher_command(registry, identifier, package.version("version"))
    if not launcher or not _is_plain(registry, identifier):
        return ()
    if package.raw("registryName") is not None:
        # In the form of May 2025 the arguments were free text that no launcher understands.
        return launcher
    runtime = [
        part for argument in package.mappings("runtimeArguments") for part in _argument(argument)
    ]
    arguments = [
        part for argument in package.mappings("packageArguments") for part in _argument(argument)
    ]
    # The registry's arguments may repeat the launcher's own, such as `-y`.
    fixed = [part for part in launcher[1:-1] if part not in runtime]
    return safe_command(package, (launcher[0], *fixed, *runtime, launcher[-1], *arguments))


def is_bundle(package: Entry) -> bool:
    """Return True for an MCP bundle, which is a file at an address."""
    return package.name("registryType").lower() == "mcpb"


def container_command(
    entry: Entry, image: str, secrets: tuple[str, ...], arguments: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the `docker run` command of an image, passing variables by name."""
    if not image or not _is_plain("oci", image):
        return ()
    settings = (part for name in secrets for part in ("-e", name))
    return safe_command(entry, ("docker", "run", "-i", "--rm", *settings, image, *arguments))


def safe_command(entry: Entry, parts: tuple[str, ...]) -> tuple[str, ...]:
    """Redact secrets from a command; return () if a part is too long."""
    limit = entry.document.limits.argument
    if any(len(part) > limit for part in parts):
        entry.report("command", f"has a part of more than {limit} characters and was left out")
        return ()
    command, redacted = redact_arguments(parts)
    for place in redacted:
        entry.report(
            f"command[{place}]", "contained a secret, which was left out: enter it as a secret"
        )
    return tuple(part[:limit] for part in command)


def _launcher_command(registry: str, identifier: str, version: str) -> tuple[str, ...]:
    pinned = f"{identifier}@{version}" if version else identifier
    if registry == "npm":
        return ("npx", "-y", pinned)
    if registry == "pypi":
        return ("uvx", pinned)
    if registry == "nuget":
        return ("dnx", "--yes", pinned)
    if registry in ("oci", "docker"):
        image = (
            identifier
            if not version or ":" in identifier.rpartition("/")[2]
            else f"{identifier}:{version}"
        )
        return ("docker", "run", "-i", "--rm", image)
    return ()


def _is_plain(registry: str, identifier: str) -> bool:
    """Return True if a launcher can only take the identifier for a package, never for an option."""
    pattern = _NPM_IDENTIFIER if registry == "npm" else _IDENTIFIER
    return pattern.fullmatch(identifier) is not None


def _argument(argument: Entry) -> tuple[str, ...]:
    """Return the words of one argument; an unset value becomes its hint in braces."""
    name = argument.name("name")
    value = argument.text("value", "default")
    hint = argument.name("valueHint")
    filled = value or (f"{{{hint}}}" if hint else "")
    if argument.name("type") == "named":
        return tuple(part for part in (name, filled) if part)
    return (filled,) if filled else ()
