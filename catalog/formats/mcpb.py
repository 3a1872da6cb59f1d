"""MCP bundles (`.mcpb`, once `.dxt`): a zip with a manifest and the program of one server.

Pegboard names a bundle by its address and the digest of the file. Bundles for Node and Python start
here. Programs of their own do not: they fit one kind of machine.
"""

import re
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from catalog.formats._declared_targets import read_web_address, safe_command
from catalog.formats.archive_members import MB, ArchiveLimits
from catalog.formats.descriptors import IntegrationDescriptor, JSONObject, Loaded
from catalog.formats.entry import Document, Entry, distinct
from catalog.formats.files import RefusedError
from catalog.formats.icon_choice import choose_icon, icon_address
from catalog.formats.names import display_name_for, slug_for
from catalog.formats.package_names import Package
from catalog.formats.readers.tools_list import normalize_tools

# Python servers of MCP bundles: what their manifests start, and by which Python. Pure.
# `python` bundles bring their libraries; `uv` bundles name them in a pyproject.toml. Both may
# start a file or a module of their own, and nothing else.

FOLDER = "${__dirname}"
PROJECT = "pyproject.toml"
LONGEST_PROJECT = 100_000  # bytes
_OWN_LIBRARIES = ("server/lib", "lib")
_MODULE = re.compile(r"[A-Za-z_]\w{0,99}(?:\.[A-Za-z_]\w{0,99}){0,9}")
_PYTHONS = ("python", "python3")
_UV_OPTIONS = ("--directory", "--project", "--python")
_MOST_REQUIREMENTS = 100


@dataclass(frozen=True, slots=True)
class Project:
    """Requirements of a pyproject.toml: its Python, and its libraries."""

    python: str = ""
    requirements: tuple[str, ...] = ()


def python_arguments(server: Entry, command: str, arguments: Sequence[str]) -> list[str]:
    """Return Python's arguments: a file of the bundle, or a module, and what follows it."""
    rest = list(arguments)
    if command == "uv":
        rest = _without_uv(rest)
    elif command not in _PYTHONS:
        if command in ("uvx", "pipx"):
            words = f"is started by {command}: add the package that it names instead"
            raise RefusedError(words, "server.mcp_config.command")
        raise RefusedError("is not started by Python", "server.mcp_config.command")
    while rest and rest[0] in ("-u", "-B", "-I", "-E", "-s"):
        rest.pop(0)
    if rest[:1] == ["-m"] and len(rest) > 1 and _MODULE.fullmatch(rest[1]):
        return rest
    if not rest or rest[0].startswith("-") or not rest[0].endswith(".py"):
        raise RefusedError("starts no Python file of its own", "server.mcp_config.args")
    file = rest[0] if rest[0].startswith(FOLDER) else f"{FOLDER}/{rest[0]}"
    return [file, *rest[1:]]


def _without_uv(rest: list[str]) -> list[str]:
    """Return what `uv run` would start."""
    while rest[:1] and rest[0] in _UV_OPTIONS:
        del rest[:2]
    if rest[:1] != ["run"]:
        raise RefusedError("is not started by uv run", "server.mcp_config.args")
    rest.pop(0)
    while rest[:1] and rest[0] in (*_UV_OPTIONS, "--frozen", "--no-dev"):
        del rest[: 2 if rest[0] in _UV_OPTIONS else 1]
    return rest[1:] if rest[:1] and rest[0] in _PYTHONS else rest


def library_paths(environment: Any) -> list[str]:
    """Return the folders that are searched for modules, within the bundle."""
    value = environment.get("PYTHONPATH") if isinstance(environment, dict) else None
    folders = re.split(r"[:;]", value[:2_000]) if isinstance(value, str) else []
    bundled = [folder.strip() for folder in folders if folder.strip().startswith(FOLDER)]
    inside = [folder.removeprefix(FOLDER).strip("/") for folder in bundled]
    if any(part == ".." for folder in inside for part in folder.split("/")):
        raise RefusedError("has a path that leads outside", "server.mcp_config.env")
    return inside or list(_OWN_LIBRARIES)


def python_specifier(text: str) -> str:
    """Return the versions of Python that a manifest allows, such as `>=3.8,<4`; "" if it says none
    that can be read.
    """
    specifier = ",".join(re.split(r"[\s,]+", text.strip()))
    try:
        return str(SpecifierSet(specifier))
    except InvalidSpecifier:
        return ""


def read_project(text: str) -> Project:
    """Read a pyproject.toml. Raises RefusedError."""
    try:
        project = tomllib.loads(text).get("project", {})
    except (tomllib.TOMLDecodeError, RecursionError):
        raise RefusedError(f"has no usable {PROJECT}", PROJECT) from None
    listed = project.get("dependencies", []) if isinstance(project, dict) else None
    if not isinstance(listed, list) or len(listed) > _MOST_REQUIREMENTS:
        raise RefusedError(f"has no usable {PROJECT}", PROJECT)
    python = str(project.get("requires-python", ""))
    return Project(
        python_specifier(python), tuple(_requirement(dependency) for dependency in listed)
    )


def _requirement(text: Any) -> str:
    try:
        requirement = Requirement(str(text)[:300])
    except InvalidRequirement:
        raise RefusedError("has a dependency that cannot be read", PROJECT) from None
    if requirement.url:
        raise RefusedError(
            f"takes {requirement.name[:100]} from an address, not from an index", PROJECT
        )
    return str(requirement)


MANIFEST = "manifest.json"
BUNDLE_BYTES = 100 * MB
BUNDLE_LIMITS = ArchiveLimits(members=30_000, total=400 * MB, file=100 * MB)
SUFFIXES = (".mcpb", ".dxt")
_ASKED = re.compile(r"\$\{user_config\.([A-Za-z_][\w.-]{0,99})\}")
_KINDS = ("node", "python", "uv")
_MOST_ARGUMENTS = 50


def is_bundle_address(address: str) -> bool:
    """Return True if the address names a bundle by its suffix."""
    return urlsplit(address).path.lower().endswith(SUFFIXES)


def read_bundle(
    manifest: Any, *, address: str, digest: str, integration: str | None = None
) -> Loaded:
    """Read the manifest of the bundle at this address. RefusedError if it cannot run here."""
    document = Document(file=address, value=manifest, integration=integration)
    entry = document.entry(manifest, MANIFEST)
    server = _server(entry)
    name = entry.name("name", required=True)
    variables = _variables(entry, server)
    package = Package("mcpb", address, digest)
    author = entry.mapping("author") if isinstance(entry.raw("author"), dict) else None
    # An icon that is a file of the bundle has no address.
    icon = choose_icon(entry.raw("icons")) or icon_address(entry.raw("icon"))
    descriptor = IntegrationDescriptor(
        slug=integration or slug_for(name),
        kind="mcp",
        title=entry.name("displayName") or display_name_for(name),
        description=entry.text("description"),
        publisher=author.name("name") if author else "",
        version=entry.version("version"),
        transport="stdio",
        command=safe_command(entry, package.command()),
        required_secrets=distinct(
            (
                variable["name"]
                for variable in variables
                if variable["secret"] or variable["required"]
            ),
            document.limits.secret_name,
        ),
        homepage=read_web_address(entry, "homepage"),
        licence=entry.version("license"),
        source_ref={
            "format": "mcpb",
            "file": address,
            "name": name,
            "variables": variables,
            **({"icon": icon} if icon else {}),
        },
    )
    tools = normalize_tools(_tools(entry), integration=descriptor)
    defects = (*document.defects, *tools.defects)
    return Loaded((descriptor,), tools.capabilities, defects)


def launch_arguments(manifest: Any, folder: str) -> tuple[str, ...]:
    """Return the arguments of Node or Python for a bundle that is unpacked in `folder`.

    What its person enters stays `${NAME}`. Raises RefusedError.
    """
    entry = Document(file=MANIFEST, value=manifest).entry(manifest, MANIFEST)
    server = _server(entry)
    return tuple(
        _ASKED.sub(r"${\1}", argument).replace(FOLDER, folder)
        for argument in _arguments(entry, server)
    )


def entry_point(manifest: Any) -> str:
    """Return the path of the program within the bundle. Raises RefusedError."""
    entry = Document(file=MANIFEST, value=manifest).entry(manifest, MANIFEST)
    return _server(entry).text("entryPoint", required=True)


@dataclass(frozen=True, slots=True)
class PythonRuntime:
    """A bundle's Python: versions that it allows, and folders of its libraries."""

    python: str
    libraries: tuple[str, ...]
    is_uv: bool


def bundle_kind(manifest: Any) -> str:
    """Return what the bundle is for: `node`, `python` or `uv`. Raises RefusedError."""
    entry = Document(file=MANIFEST, value=manifest).entry(manifest, MANIFEST)
    return _server(entry).name("type")


def python_runtime(manifest: Any) -> PythonRuntime:
    """Return the Python that a bundle needs. Raises RefusedError."""
    entry = Document(file=MANIFEST, value=manifest).entry(manifest, MANIFEST)
    server = _server(entry)
    config, compatible = _config(server), entry.mapping("compatibility")
    runtimes = compatible.mapping("runtimes") if compatible else None
    return PythonRuntime(
        python=python_specifier(runtimes.text("python")) if runtimes else "",
        libraries=tuple(library_paths(config.raw("env") if config else None)),
        is_uv=server.name("type") == "uv",
    )


def _server(entry: Entry) -> Entry:
    server = entry.mapping("server")
    if server is None:
        raise RefusedError("has no server in its manifest", "server")
    if (kind := server.name("type")) not in _KINDS:
        raise RefusedError(
            f"is for {kind or 'nothing that is known'}; only bundles for node, python and uv are "
            "started here",
            "server.type",
        )
    _check_platform(entry)
    return server


def _check_platform(entry: Entry) -> None:
    """Raise RefusedError if the manifest names systems, and not this one."""
    compatible = entry.mapping("compatibility")
    listed = compatible.raw("platforms") if compatible else None
    systems = [str(system)[:20] for system in listed[:10]] if isinstance(listed, list) else []
    if systems and sys.platform not in systems:
        raise RefusedError(
            f"is for {', '.join(systems)}, and this system is {sys.platform}",
            "compatibility.platforms",
        )


def _config(server: Entry) -> Entry | None:
    return server.mapping("mcpConfig")


def _arguments(entry: Entry, server: Entry) -> list[str]:
    """Return the arguments of the manifest's command, or the entry point where it has none."""
    config = _config(server)
    if config is None:
        return [f"{FOLDER}/{server.text('entryPoint', required=True)}"]
    listed, command = config.raw("args"), config.name("command")
    if server.name("type") == "node" and command != "node":
        raise RefusedError("is not started by node", "server.mcp_config.command")
    if not isinstance(listed, list) or not listed or len(listed) > _MOST_ARGUMENTS:
        raise RefusedError("has no usable arguments", "server.mcp_config.args")
    if not all(isinstance(argument, str) and len(argument) <= 1_000 for argument in listed):
        raise RefusedError("has no usable arguments", "server.mcp_config.args")
    if server.name("type") != "node":
        return python_arguments(server, command, listed)
    return listed


def _variables(entry: Entry, server: Entry) -> list[JSONObject]:
    """Return what a person enters: by the variable that has it, or by its own name in arguments."""
    config, user_config = _config(server), entry.raw("userConfig")
    described = user_config if isinstance(user_config, dict) else {}
    environment = config.raw("env") if config else None
    names: dict[str, str] = {}
    for variable, value in (environment if isinstance(environment, dict) else {}).items():
        if placeholder := _ASKED.fullmatch(str(value)):
            names[str(variable)] = placeholder.group(1)
        elif variable != "PYTHONPATH":  # it is followed in another way
            entry.report(f"env.{variable}", "is set by the bundle, and not by Pegboard")
    for argument in _arguments(entry, server):
        names |= {key: key for key in _ASKED.findall(argument)}
    return [_variable(entry, name, described.get(key)) for name, key in names.items()]


def _variable(entry: Entry, name: str, described: Any) -> JSONObject:
    about = entry.document.entry(described if isinstance(described, dict) else {}, "user_config")
    return {
        "name": str(entry.cleaned(name, "env")),
        "description": about.text("description", "title", limit=entry.document.limits.reason),
        "secret": bool(about.flag("sensitive")),
        "required": bool(about.flag("required")),
    }


def _tools(entry: Entry) -> list[JSONObject]:
    """Return the manifest's tools, which have no schemas: the server tells them when it runs."""
    listed = entry.raw("tools")
    tools = [tool for tool in listed if isinstance(tool, dict)] if isinstance(listed, list) else []
    return [{**tool, "inputSchema": {"type": "object"}} for tool in tools]
