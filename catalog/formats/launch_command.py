"""The command that starts a package, from what the registry says about it. It is shown, never run,
here."""

import re

from catalog.formats.entry import Entry
from catalog.formats.secret_redaction import redact_arguments

_IDENTIFIER = re.compile(r"[A-Za-z0-9][\w./:@+-]*+")
_NPM_IDENTIFIER = re.compile(r"[@A-Za-z0-9][\w./:@+-]*+")


def launch_command(package: Entry) -> tuple[str, ...]:
    """The command line, or nothing for packages that no launcher starts."""
    registry = package.name("registryType", "registryName").lower()
    identifier = package.name("identifier", "name")
    launcher = _launcher(registry, identifier, package.version("version"))
    if not launcher or not _is_plain(registry, identifier):
        return ()
    if package.raw("registryName") is not None:
        # In the form of May 2025 the arguments were free text that no launcher understands.
        return launcher
    runtime = [part for one in package.mappings("runtimeArguments") for part in _argument(one)]
    arguments = [part for one in package.mappings("packageArguments") for part in _argument(one)]
    fixed = [part for part in launcher[1:-1] if part not in runtime]
    return safe_command(package, (launcher[0], *fixed, *runtime, launcher[-1], *arguments))


def container_command(
    entry: Entry, image: str, secrets: tuple[str, ...], arguments: tuple[str, ...]
) -> tuple[str, ...]:
    """The command that runs an image, with its variables handed through by name."""
    if not image or not _is_plain("oci", image):
        return ()
    settings = (part for name in secrets for part in ("-e", name))
    return safe_command(entry, ("docker", "run", "-i", "--rm", *settings, image, *arguments))


def safe_command(entry: Entry, parts: tuple[str, ...]) -> tuple[str, ...]:
    """The command without secrets, or nothing when a part of it is too long to be one."""
    limit = entry.document.limits.argument
    if any(len(part) > limit for part in parts):
        entry.report("command", f"has a part of more than {limit} characters and was left out")
        return ()
    command, redacted = redact_arguments(parts)
    for place in redacted:
        entry.report(f"command[{place}]", "held a secret, which was left out: give it as a secret")
    return tuple(part[:limit] for part in command)


def _launcher(registry: str, identifier: str, version: str) -> tuple[str, ...]:
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
    """Whether the launcher would take the identifier for a package and for nothing else."""
    own = _NPM_IDENTIFIER if registry == "npm" else _IDENTIFIER
    return own.fullmatch(identifier) is not None


def _argument(argument: Entry) -> tuple[str, ...]:
    """A named argument gives its name and value, a positional one its value, or what to put there
    in braces."""
    name = argument.name("name")
    value = argument.text("value", "default")
    hint = argument.name("valueHint")
    filled = value or (f"{{{hint}}}" if hint else "")
    if argument.name("type") == "named":
        return tuple(part for part in (name, filled) if part)
    return (filled,) if filled else ()
