"""Targets of servers as sources declare them: launch commands, addresses and variables."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from catalog.formats.descriptors import JSONObject, Transport
from catalog.formats.entry import Entry
from catalog.formats.files import resolve_types
from catalog.formats.header_names import DeclaredBy, can_be_sent
from catalog.formats.launches import with_scheme
from catalog.formats.package_names import NotAPackageError, Package, parse_package
from catalog.formats.secret_redaction import (
    find_placeholders,
    is_plain_setting,
    is_secret_name,
    normalize_placeholders,
    redact_arguments,
    redact_text,
    redact_url,
    strip_placeholders,
)
from catalog.formats.text_cleanup import clean_name

# Launch commands of packages, as an admin sees and confirms them. Nothing is run here.

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
    """Return the words of one argument; what needs a value has a gap named by its variable."""
    name, gap = argument.name("name"), argument_gap(argument)
    filled = normalize_placeholders(argument.text("value", "default"))[0]
    if not filled and argument.name("valueHint"):
        if not gap:
            return ()  # nobody has to enter it
        filled = f"${{{gap}}}"
    if argument.name("type") == "named":
        return tuple(part for part in (name, filled) if part)
    return (filled,) if filled else ()


def argument_gap(argument: Entry) -> str:
    """Return the name of the variable that a required argument without a value needs, or ""."""
    hint = re.sub(r"\W", "_", argument.name("valueHint") or argument.name("name").lstrip("-"))
    is_unset = not argument.text("value", "default") and argument.flag("isRequired", "required")
    return hint if is_unset and re.match(r"[A-Za-z_]", hint) and argument.name("valueHint") else ""


# Variables as sources declare them: with defaults and choices, and never with a secret's value.

_MOST_CHOICES = 50


def build_variable(
    entry: Entry,
    name: str,
    *,
    description: str = "",
    secret: bool = True,
    required: bool = True,
    default: Any = None,
    choices: Any = None,
) -> JSONObject:
    """Return a variable for the form that asks for it. One with a default needs no value.

    A default is kept only where it is no secret: by what the source says, its name and its looks.
    """
    value = resolve_types(default)
    flag = {True: "true", False: "false"}.get(value, "") if isinstance(value, bool) else ""
    text = flag or (str(value) if isinstance(value, (str, int, float)) else "")
    is_setting = bool(text) and not secret and is_plain_setting(name, text)
    listed = choices if isinstance(choices, list) else []
    limit = entry.document.limits.name
    # A choice may stand beside its label.
    plain = (choice.get("value") if isinstance(choice, dict) else choice for choice in listed)
    values = [str(choice)[:limit] for choice in plain if isinstance(choice, (str, int, float))]
    return {
        "name": name,
        "description": description,
        "secret": secret,
        "required": required and not is_setting,
        **({"default": text} if is_setting else {}),
        **({"choices": values[:_MOST_CHOICES]} if values else {}),
    }


def read_variable(entry: Entry, name: str, *, required: bool | None = None) -> JSONObject:
    """Return a variable that a mapping describes, in the words of registries and catalogues.

    Its `value` is a default, too, unless it has gaps to be filled. A secret is always required.
    """
    secret = bool(entry.flag("isSecret", "secret", "sensitive"))
    needed = bool(entry.flag("isRequired", "required")) if required is None else required
    value, default = entry.raw("value"), entry.raw("default")
    has_gaps = isinstance(value, str) and bool(find_placeholders(value))
    return build_variable(
        entry,
        name,
        description=entry.text("description", limit=entry.document.limits.reason),
        secret=secret,
        required=needed or secret,
        default=default if value is None or has_gaps else value,
        choices=entry.raw("choices", "options"),
    )


# Remote servers as sources declare them: addresses and header templates, never with secrets.

_WEB_ADDRESS = re.compile(r"https?://[^\s/?#][^\s\\]*", re.IGNORECASE)


def read_web_address(entry: Entry, *keys: str) -> str:
    """Return the address under the first key present, or ""; report unusable ones."""
    address = entry.name(*keys, limit=entry.document.limits.address)
    if not address:
        return ""
    address = with_scheme(address) or address
    try:
        if not _WEB_ADDRESS.fullmatch(address):
            raise ValueError(address)
        # The replacement may be longer than the secret it replaces.
        redacted = redact_url(address)[: entry.document.limits.address]
    except ValueError:
        entry.report(keys[0], "must be an address that begins with https:// or http://")
        return ""
    if redacted.count("redacted") > address.count("redacted"):
        entry.report(keys[0], "contained a secret, which was left out: enter it as a secret")
    return redacted


def parse_transport(name: str, *, endpoint: str) -> Transport:
    """Map the formats' transport names to `stdio`, `http` or `sse`."""
    plain = name.lower().replace("_", "-")
    if plain in ("sse", "http-sse", "httpsse", "legacy-sse"):
        return "sse"
    if plain in ("http", "streamable-http", "streamablehttp") or endpoint:
        return "http"
    return "stdio"


class Header(NamedTuple):
    """A header as declared; with `needed`, a missing value becomes a placeholder."""

    name: str
    value: str
    secret: bool = False
    needed: bool = True


class HeaderTemplates(NamedTuple):
    """Header templates, and the names of their placeholders."""

    templates: dict[str, str]
    names: tuple[str, ...]


def build_header_templates(entry: Entry, headers: Iterable[Header]) -> HeaderTemplates:
    """Build templates of the headers that can be sent; report secrets and replace them."""
    templates: dict[str, str] = {}
    names: list[str] = []
    for header in headers:
        if not can_be_sent(header.name, DeclaredBy.SERVER):
            entry.report("headers", "has a header that cannot be set, which was left out")
            continue
        template, gaps = _build_template(entry, header)
        if template and len(template) <= entry.document.limits.argument:
            templates[header.name] = template
            names += gaps
    return HeaderTemplates(templates, tuple(dict.fromkeys(names)))


def _build_template(entry: Entry, header: Header) -> tuple[str, tuple[str, ...]]:
    text, gaps = normalize_placeholders(clean_name(header.value).text)
    placeholder = f"${{{header.name}}}"
    if not text:
        return (placeholder, (header.name,)) if header.needed else ("", ())
    plain = strip_placeholders(text)
    # Placeholders are allowed; a literal that looks like a secret is not.
    held = redact_text(plain) != plain
    if held or (not gaps and (header.secret or is_secret_name(header.name))):
        entry.report("headers", "contained a secret, which was left out: enter it as a secret")
        return placeholder, (header.name,)
    return text, gaps
