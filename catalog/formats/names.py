"""Names: slugs of integrations, full names for models, identifiers and display names.

Every name is derived from its capability alone, so neither the order of loading nor the rest of the
catalogue changes it.
"""

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from pathlib import PureWindowsPath

from anyascii import anyascii

from catalog.formats.launches import parse_docker_image
from catalog.formats.package_names import NotAPackageError, parse_package
from catalog.formats.text_cleanup import clean_name

FULL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
SLUG = re.compile(r"[a-z0-9][a-z0-9_-]{0,47}")
# Pegboard's own meta-tools and their integrations. No source may take these names.
RESERVED = frozenset(
    {
        "browse_category",
        "discover_capabilities",
        "execute_tool",
        "get_call",
        "get_tool",
        "list_categories",
        "mcp",
        "pegboard",
        "search_tools",
        "tool_discovery",
    }
)
_SCRIPT = re.compile(r"\.(?:py|[cm]?[jt]s|jar|dll|exe|rb|sh)$", re.IGNORECASE)
# Names of scripts and folders that say nothing of a server.
_SAY_NOTHING = frozenset(
    {
        *("server", "main", "index", "app", "cli", "run", "start", "mcp", "mcp_server", "__main__"),
        *("build", "dist", "src", "bin", "lib", "out", "target", "release", ".", "..", "/"),
    }
)
# Of a package whose scope says what it is.
_NAMELESS = frozenset(
    {
        *("mcp", "mcp-server", "server", "mcp-client", "mcp-remote", "server-mcp", "mcpserver"),
        *("mcp-stdio", "mcp-proxy", "mcp-local", "cli", "core", "app", "sdk", "agent", "main"),
    }
)
_SPELLINGS = {"Ui": "UI", "Devops": "DevOps", "Ai": "AI", "Api": "API", "Aws": "AWS", "Sql": "SQL"}
# Options of launchers and installers, whose values name no program and no package.
VALUED = frozenset(
    {
        *("--python", "--with", "--index", "--index-url", "--default-index", "--extra-index-url"),
        *("--registry", "-p", "-c", "-w", "-i", "-t", "-f", "--version", "--tag", "--platform"),
    }
)
_SLUG_LENGTH = 48
_NAME_LENGTH = 64
_SHOWN_LENGTH = 200
_HASH_LENGTH = 8
# Characters between the words of a title; dropping them loses no information.
_SEPARATORS = r"\s._/@:,;!?'\"()\[\]{}&|–—-"  # noqa: RUF001 - titles do use the long dashes
_UNREPRESENTABLE = re.compile(rf"[^a-zA-Z0-9{_SEPARATORS}]")
_ACCENTS = re.compile(r"[\u0300-\u036f]")
_FOREIGN = re.compile(r"[^\x00-\x7f]+")


def slug_for(title: str) -> str:
    """Return the slug for a name or title; it never contains `__`, the separator of full names.

    If the slug cannot represent the whole title, a short hash is appended, so that look-alike
    letters never give another integration's slug.
    """
    name = clean_name(title).text
    slug = re.sub(r"[^a-z0-9_]+", "-", _in_latin(name, "-").lower())
    slug = re.sub(r"_{2,}", "_", slug).strip("-_")
    if (
        SLUG.fullmatch(slug)
        and slug.replace("-", "_") not in RESERVED
        and _UNREPRESENTABLE.search(name) is None
    ):
        return slug
    return _with_hash(slug, name.lower(), _SLUG_LENGTH, separator="-")


def full_name_for(
    integration: str, action: str, *, kind: str = "tool", declared_id: str = ""
) -> str:
    """Return `{integration}__{action}`, or the short form if that is too long or not allowed."""
    name = f"{integration}__{action}"
    if FULL_NAME.fullmatch(name):
        return name
    return short_form(kind, integration, action, declared_id)


def short_form(kind: str, integration: str, action: str, declared_id: str = "") -> str:
    """Return a readable hashed name, for when the plain one is illegal or taken."""
    identity = "\n".join((kind, integration, action, declared_id))
    readable = re.sub(r"[^a-zA-Z0-9_-]+", "_", _in_latin(action, "_")).strip("_-")
    if action == integration:
        return _with_hash(readable, identity, _NAME_LENGTH, separator="_")
    # `uber.ride` of the server `uber` reads as uber__ride_…, not as uber__uber_ride_….
    readable = _without_prefix(readable, integration)
    prefix = f"{integration}__"
    return prefix + _with_hash(readable, identity, _NAME_LENGTH - len(prefix), separator="_")


def identifier_for(kind: str, full_name: str) -> str:
    """Return the default id of a capability whose source declares none."""
    return f"{kind}:{full_name}"


def display_name_for(name: str) -> str:
    """Turn a machine name into a title: `pdf-to_text` and `pdfToText` become "Pdf To Text"."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    words = re.split(r"[\s_./:-]+", spaced)
    title = " ".join(word[:1].upper() + word[1:] for word in words if word)
    return title[:_SHOWN_LENGTH].rstrip()


def server_title(name: str) -> str:
    """Return the title of a server by its machine name, with the usual spelling of some words."""
    if re.fullmatch(r"(?:[A-Z][a-z]+){2,3}", name):
        return name  # as its people write it: GitHub, DeepWiki
    words = display_name_for(name).split(" ")
    return " ".join(_SPELLINGS.get(word, word) for word in words)


def server_name(command: Sequence[str], address: str = "") -> str:
    """Return a name for a server that says none: of its package, image, program or host.

    `@scope/mcp` is named by its scope, since its own name says nothing.
    """
    if not command:
        host = address.partition("://")[2].partition("/")[0].rpartition("@")[2]
        return slug_for(host or "server")
    try:
        package = parse_package(command)
    except NotAPackageError:
        package = None
    if package:
        scope, _, name = package.name.rpartition("/")
        name = scope.lstrip("@") if scope and name.lower() in _NAMELESS else name
    else:
        owner, _, name = parse_docker_image(command).rpartition("/")
        name = owner.rpartition("/")[2] if owner and name.lower() in _NAMELESS else name
        name = name or _program_name(command)
    return slug_for(name.partition(":")[0].partition("@")[0] or "server")


def _program_name(command: Sequence[str]) -> str:
    """Return the name of a module or script, or of its folder where the script's says nothing."""
    words = list(command[1:])
    if "-m" in words[:-1]:
        return words[words.index("-m") + 1].partition(".")[0]
    scripts = [word for word in words if _SCRIPT.search(word)]
    folders = [after for before, after in pairwise(words) if before in ("--directory", "--project")]
    values = [after for before, after in pairwise(words) if before in VALUED]
    plain = [
        word
        for word in words
        if not word.startswith("-") and word not in ("run", "x", "exec", *folders, *values)
    ]
    path = (scripts or plain[:1] or [command[0]])[0]
    # `jsr:@scope/weather@1` is a specifier of Deno.
    path = re.sub(r"\Ajsr:/?@?|(?<=\w)@[\w.^~-]+\Z", "", path)
    parts = [part for folder in folders for part in PureWindowsPath(folder).parts]
    parts += PureWindowsPath(_SCRIPT.sub("", path)).parts
    last = parts[-1] if parts else command[0]
    return next((part for part in reversed(parts) if part.lower() not in _SAY_NOTHING), last)


def _in_latin(name: str, separator: str) -> str:
    """Return the name in Latin letters, as its script is usually read: 天气 as Tian Qi."""
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", name))
    # Each syllable of Chinese begins with a capital letter, and no blank is between them.
    return _FOREIGN.sub(
        lambda run: re.sub(r"(?<=[a-z0-9])(?=[A-Z])", separator, anyascii(run.group())), plain
    )


def _without_prefix(readable: str, integration: str) -> str:
    head, rest = readable[: len(integration)], readable[len(integration) :]
    action = rest.lstrip("_-")
    return action if head.lower() == integration.lower() and action and action != rest else readable


def _with_hash(readable: str, identity: str, length: int, *, separator: str) -> str:
    digest = hashlib.sha256(identity.encode()).hexdigest()[:_HASH_LENGTH]
    stem = readable[: length - _HASH_LENGTH - 1].rstrip("-_")
    return f"{stem}{separator}{digest}" if stem else f"n{digest}"
