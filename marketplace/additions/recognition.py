"""Recognition of what was pasted: pure, so that the web may do it. Nothing is contacted."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any
from urllib.parse import urljoin, urlsplit

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from catalog.formats import skill
from catalog.formats.descriptors import Defect, IntegrationDescriptor
from catalog.formats.entry import plain_key
from catalog.formats.files import DEFAULT_LIMITS, RefusedError
from catalog.formats.launches import PROGRAMS, Launch, program_of
from catalog.formats.loader import load_value
from catalog.formats.loose_text import fenced_blocks, looks_structured, parse_loose, unwrap
from catalog.formats.names import VALUED, slug_for
from catalog.formats.openapi.api_document import join_pasted, looks_like_document
from catalog.formats.package_names import NotAPackageError, parse_package
from catalog.formats.readers.mcp_json import is_server
from catalog.formats.secret_redaction import redact_arguments
from marketplace.additions._commands import (
    advice_for,
    launch_of,
    plain_address,
    read_client_command,
    read_link,
    split_commands,
)

# Places where a server or a document is, beside an address that is neither. Pure.

# The usual places of documents: FastAPI and most others, Spring, ASP.NET, NestJS, Django.
_DOCUMENTS = (
    *("openapi.json", "openapi.yaml", "swagger.json", "v3/api-docs", "api-docs"),
    *("swagger/v1/swagger.json", "v2/api-docs", "docs/openapi.json", "api/openapi.json"),
    *("openapi.yml", "swagger.yaml", "docs-json", "api-json", "schema/", "api/schema/"),
    *("openapi/v1.json", "q/openapi", ".well-known/openapi.json"),
)
# What pages of documentation name: Swagger UI, Redoc, Scalar, RapiDoc, and plain links.
_NAMED = re.compile(
    r"""(?:spec-url|data-url|apiDescriptionUrl|href|["']?\burl["']?|specUrl)\s*[:=]\s*["']([^"'\s<>]{1,400})["']"""
)
_LOOKS_LIKE_DOCUMENT = re.compile(
    r"openapi|swagger|api-docs|schema|\.(?:json|ya?ml)\b", re.IGNORECASE
)
_SERVERS = ("mcp", "sse")
_MOST_NAMED = 5


def document_places(address: str, page: str = "") -> list[str]:
    """Return addresses where an API's document may be: named by the page, then the usual ones."""
    host = urlsplit(address).hostname or ""
    targets = (urljoin(address, match) for match in _NAMED.findall(page[:500_000]))
    documents = [target for target in targets if _LOOKS_LIKE_DOCUMENT.search(urlsplit(target).path)]
    within = [target for target in documents if is_within(host, urlsplit(target).hostname or "")]
    usual = (f"{folder}{place}" for folder in _folders(address) for place in _DOCUMENTS)
    places = dict.fromkeys((*list(dict.fromkeys(within))[:_MOST_NAMED], *usual))
    return [place for place in places if place != address]


def server_places(address: str) -> list[str]:
    """Return addresses of an MCP server: this one, with or without a last slash, and `/mcp`."""
    plain, question, query = address.partition("?")
    if urlsplit(plain).path in ("", "/"):
        base = plain.rstrip("/")
        return [address, *(f"{base}/{place}{question}{query}" for place in _SERVERS)]
    toggled = plain.rstrip("/") if plain.endswith("/") else f"{plain}/"
    return [address, f"{toggled}{question}{query}"]


def _folders(address: str) -> Iterator[str]:
    """Yield the address as a folder, and the folders above it."""
    parts = urlsplit(address)
    steps = [step for step in parts.path.split("/") if step]
    origin = f"{parts.scheme}://{parts.netloc}/"
    for count in range(len(steps), -1, -1):
        yield origin + "".join(f"{step}/" for step in steps[:count])


def is_within(host: str, another: str) -> bool:
    """Return True for the same host, or one of the same domain."""
    domain = ".".join(host.split(".")[-2:]) if host.count(".") > 1 else host
    return another == host or (
        not domain.replace(".", "").isdecimal() and another.endswith(f".{domain}")
    )


LONGEST_TEXT = 2_000  # of anything but a document
LONGEST_DOCUMENT = 5_000_000
LONGEST_CONFIGURATION = 100_000
_ADDRESS = re.compile(r"https?://\S{1,490}", re.IGNORECASE)
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}(?:==[\w.]{1,40}|@[\w.-]{1,40})?")
_SCOPED = re.compile(r"@[a-z0-9][\w.-]{0,99}/[\w.-]{1,100}(?:@[\w.-]{1,40})?")
_INSTALLERS = {
    **dict.fromkeys(("pip", "pip3", "pipx", "uv", "poetry", "pdm"), ("uvx",)),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), ("npx",)),
    **dict.fromkeys(("docker", "podman"), ("docker", "run", "-i", "--rm")),
    "dotnet": ("dnx", "--yes"),
    "go": ("go", "run"),
}
_INDEXES = {"pypi": "uvx", "npm": "npx"}


# Between several objects or documents, one after the other.
_BETWEEN = re.compile(r"(?<=\})\s{0,100}(?=\{)|\n---[ \t]{0,20}(?=\n)")
_BESIDE_CONFIGURATION = "is no configuration, and is not read beside one"
_NOT_RECOGNISED = gettext_lazy(
    "Pegboard does not recognise this. Paste an address, a package name, a command "
    "that begins with uvx, npx or docker run, a client's JSON, an OpenAPI document, or a SKILL.md."
)


class NotRecognisedError(Exception):
    """It is nothing that can be added. The message says what can."""


class WhichIndexError(NotRecognisedError):
    """A bare package name, which PyPI and npm may both have."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """Meaning of a pasted text: an address, a document, a skill, or servers known already.

    `left_out` is what of it was not taken.
    """

    address: str = ""
    document: str = ""
    skill: str = ""
    servers: tuple[IntegrationDescriptor, ...] = ()
    left_out: tuple[Defect, ...] = ()


def recognise(text: str, *, name: str = "", index: str = "") -> Recognised:
    """Return what a pasted text is. `index` says where a bare package name is meant."""
    if len(text) <= LONGEST_DOCUMENT and (joined := join_pasted(text)) != text:
        return Recognised(document=joined)
    if len(blocks := fenced_blocks(text)) > 1:
        return _read_blocks(blocks, name, index)
    text = unwrap(text)
    if looks_like_document(text):
        if len(text) > LONGEST_DOCUMENT:
            raise NotRecognisedError(_("The document is too long. Enter its address instead."))
        return Recognised(document=text)
    if skill.is_skill_text(text):
        if len(text) > LONGEST_CONFIGURATION:
            raise NotRecognisedError(_("This is too long for a skill."))
        return Recognised(skill=text)
    address = plain_address(text) if len(text) <= LONGEST_TEXT else text
    if launched := launch_of(address):
        return _read_command(launched, name, index)
    if address == text and looks_structured(text):
        return _read_configuration(text, name)
    try:
        return _read_line(text, address, name, index)
    except WhichIndexError:
        raise
    except NotRecognisedError as problem:
        # A configuration may stand in words: of a file, of a program, or of a chat.
        configuration = text[text.find("{") : text.rfind("}") + 1]
        if not configuration.startswith("{"):
            raise
        try:
            return _read_configuration(configuration, name)
        except NotRecognisedError:
            raise problem from None


def _read_line(text: str, address: str, name: str, index: str) -> Recognised:
    """Read a link, an address, a command, or a block of commands."""
    if len(text) > LONGEST_TEXT:
        raise NotRecognisedError(_("This is too long for an address or a command."))
    if linked := read_link(address):
        return _load_server(*linked, name)
    if _ADDRESS.fullmatch(address):
        return Recognised(address=address)
    commands = split_commands(text)
    if len(commands) > 1:
        return _read_commands(commands, name, index)
    return _read_command(commands[0] if commands else [], name, index)


def _read_blocks(blocks: list[str], name: str, index: str) -> Recognised:
    """Read the blocks of a README: each server once, and what is no server is left out.

    Beside a configuration, the commands of other blocks are other ways to the same.
    """
    servers: dict[tuple[str, ...], IntegrationDescriptor] = {}
    left_out: list[Defect] = []
    problem = NotRecognisedError(_NOT_RECOGNISED)
    structured = [block for block in blocks if looks_structured(block)]
    for number, block in enumerate(blocks, 1):
        try:
            if structured and block not in structured:
                left_out.append(Defect("pasted", f"block {number}", _BESIDE_CONFIGURATION))
                continue
            recognised = recognise(block, index=index)
            if recognised.document or recognised.skill:
                return recognised
            if recognised.address:
                recognised = _load_server("", {"url": recognised.address}, "")
        except NotRecognisedError as refused:
            problem = refused
            left_out.append(Defect("pasted", f"block {number}", str(refused)))
            continue
        for server in recognised.servers:
            servers.setdefault((server.endpoint, *server.command), server)
        left_out += recognised.left_out
    if not servers:
        raise problem
    if name and len(servers) == 1:
        [server] = servers.values()
        servers = {(): replace(server, slug=slug_for(name), title=name)}
    return Recognised(servers=tuple(servers.values()), left_out=tuple(dict.fromkeys(left_out)))


def is_package(descriptor: IntegrationDescriptor) -> bool:
    """Return True if its command starts a package of an index."""
    try:
        return parse_package(descriptor.command) is not None
    except NotAPackageError:
        return False


def _read_configuration(text: str, name: str) -> Recognised:
    """Read a client's configuration or a catalogue's entry; without braces around it, too."""
    if len(text) > LONGEST_CONFIGURATION:
        raise NotRecognisedError(_("This is too long for a configuration."))
    text = text if text[0] != '"' else f"{{{text.rstrip(',')}}}"
    try:
        value = _parse(text)
    except NotRecognisedError:
        if len(parts := _BETWEEN.split(text)) == 1:
            raise
        return _read_blocks(parts, name, "")
    if isinstance(value, dict) and is_server(value) and "transport" not in value:
        own_name = next((text for key, text in value.items() if plain_key(str(key)) == "name"), "")
        return _load_server(str(own_name or ""), value, name)
    return _load(value, name, text)


def _parse(text: str) -> Any:
    try:
        return parse_loose(text, limits=DEFAULT_LIMITS)
    except RefusedError as refused:
        raise NotRecognisedError(_("It %(reason)s.") % {"reason": refused.reason}) from None


def _load_server(server_name: str, server: dict[str, Any], name: str) -> Recognised:
    """Read one server, under the person's name, its own, or one made from what is started."""
    chosen = name or server_name
    inputs = server.get("inputs")
    around = {"inputs": inputs} if isinstance(inputs, list) else {}
    inner = {
        key: value for key, value in server.items() if plain_key(str(key)) not in ("inputs", "name")
    }
    if chosen:
        return _load({**around, "mcpServers": {chosen: inner}}, name)
    return _load({**around, "mcpServers": [inner]}, name)


def _read_commands(commands: list[list[str]], name: str, index: str) -> Recognised:
    """Read each command of a block; what is none is left out, unless that is most of the block."""
    servers: list[IntegrationDescriptor] = []
    left_out: list[Defect] = []
    for words in commands:
        try:
            command = _read_command(words, name if len(commands) == 1 else "", index)
        except NotRecognisedError as problem:
            line = " ".join(redact_arguments(words)[0])[:100]
            left_out.append(Defect("pasted", line, str(problem)))
            continue
        if command.address:
            command = _load_server("", {"url": command.address}, "")
        servers += command.servers
        left_out += command.left_out
    if len(servers) < len(left_out):
        raise NotRecognisedError(_NOT_RECOGNISED)
    return Recognised(servers=tuple(servers), left_out=tuple(left_out))


def _read_command(words: list[str], name: str, index: str) -> Recognised:
    """Read a client's command that adds a server, or the launch of one."""
    if added := read_client_command(words, _parse):
        return _load_server(*added, name)
    launch = Launch.read(words)
    if advice := advice_for(launch.words):
        raise NotRecognisedError(advice)
    if program_of(words) == "curl" and (address := next(filter(_ADDRESS.fullmatch, words), "")):
        return Recognised(address=address)
    if len(launch.words) == 1 and _ADDRESS.fullmatch(launch.words[0]):
        return Recognised(address=launch.words[0])
    words = _as_launch(launch.words, index)
    if program_of(words).rstrip("0123456789.") not in PROGRAMS:
        raise NotRecognisedError(_NOT_RECOGNISED)
    entry = {"command": words[0], "args": words[1:], "env": launch.environment}
    server = _load_server("", entry, name)
    return replace(server, left_out=(*launch.left_out, *server.left_out))


def _as_launch(words: list[str], index: str) -> list[str]:
    """Return the command that starts a package, for the ways in which packages are named."""
    verbs = words[2:] if words[1:3] == ["-m", "pip"] else words
    verbs = [
        verb for at, verb in enumerate(verbs) if at != 1 or verb not in ("tool", "pip", "global")
    ]
    if len(verbs) > 2 and verbs[0] in _INSTALLERS and verbs[1] in ("install", "i", "add", "pull"):
        packages = [
            word
            for before, word in pairwise(verbs[1:])
            if not word.startswith("-") and before not in VALUED
        ]
        return [*_INSTALLERS[verbs[0]], *packages[:1]]
    if len(words) != 1:
        return words
    where, colon, package = words[0].partition(":")
    if colon and where in _INDEXES:
        return [_INDEXES[where], package]
    if _SCOPED.fullmatch(words[0]):
        return ["npx", words[0]]
    if "==" in words[0] and _PACKAGE.fullmatch(words[0]):
        return ["uvx", words[0]]
    if _PACKAGE.fullmatch(words[0]) and words[0] not in PROGRAMS:
        if index in _INDEXES:
            return [_INDEXES[index], words[0]]
        raise WhichIndexError(_("Is this a package of PyPI or of npm?"))
    return words


def _load(value: Any, name: str, text: str = "") -> Recognised:
    """Read it by the formats of the catalogue, which keep no secret."""
    loaded = load_value(value, file="pasted", integration=name or None, text=text)
    servers = tuple(integration for integration in loaded.integrations if integration.transport)
    if not servers:
        kinds = ", ".join(sorted({str(integration.kind) for integration in loaded.integrations}))
        reasons = "; ".join(str(defect) for defect in loaded.defects[:3]) or f"pasted: {kinds}"
        if isinstance(value, dict) and isinstance(value.get("mcpServers"), str):
            reasons = (
                f"mcpServers: names another file, {value['mcpServers'][:100]}: add its content"
            )
        raise NotRecognisedError(_("There is no server in it. %(reasons)s") % {"reasons": reasons})
    return Recognised(servers=servers, left_out=loaded.defects)
