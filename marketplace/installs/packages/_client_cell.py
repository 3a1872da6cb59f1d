"""The cell of a package client: its own files, the package's folder, and the package indexes.

uv and npm parse what strangers packed, but run none of it. They reach the indexes that the
operator configured, by a proxy. Where those are no names (a proxy of the operator's own, an index
on this machine), the cell has the machine's network. It has no secrets, nothing of Pegboard's.
"""

import ipaddress
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import httpcore2
from django.conf import settings

from catalog.servers.cell.allowed_hosts import HostRules, written
from catalog.servers.cell.command import CLIENT_USER, PROXY_PORT, Cell, build_command
from catalog.servers.cell.egress_proxy import CellProxy
from catalog.servers.cell.kernel_limits import compile_filter
from catalog.servers.cell.support import (
    cell_groups,
    cell_problem,
    cells_required,
    cells_wanted,
    find_bwrap,
)
from catalog.servers.cell.visible_files import give_folder, may_show, program_files, python_files
from catalog.servers.client import process_guard
from catalog.servers.connections.event_loop import connection_loop
from catalog.servers.net.address_check import AllowedHosts
from marketplace.installs.packages.folders import PackageProblemError, Place

# Hosts of the package indexes that a client may fetch from, read from its configuration.

# PyPI's index and its files; npm's registry has both.
_PUBLIC_INDEXES = ("pypi.org", "files.pythonhosted.org", "registry.npmjs.org")
_ADDRESS = re.compile(r"https?://[^\s,;\"'<>]+", re.IGNORECASE)
# An operator's own proxy decides what is reached, and may be the only way out.
# The lookbehind lets each word be read once only.
_PROXY = re.compile(r"(?<![\w.-])([\w.-]*?)proxy\s*+=\s*+\S", re.IGNORECASE)
_MOST_BYTES = 100_000
Hosts = frozenset[tuple[str, int]]


def find_index_hosts(configuration: Iterable[str]) -> Hosts | None:
    """Return hosts and ports; None if names do not tell what the client has to reach.

    `configuration` are variables as NAME=value, and texts of configuration files.
    """
    texts = list(configuration)
    if "*" in settings.PEGBOARD_PACKAGE_HOSTS or any(map(_names_proxy, texts)):
        return None
    hosts = {_split(name) for name in (*_PUBLIC_INDEXES, *settings.PEGBOARD_PACKAGE_HOSTS)}
    for address in (match for text in texts for match in _ADDRESS.findall(text)):
        parts = urlsplit(address)
        host = (parts.hostname or "").rstrip(".")
        if _is_local(host):
            return None
        hosts.add((host, parts.port or (443 if parts.scheme.lower() == "https" else 80)))
    return frozenset(hosts)


def rules_of(hosts: Hosts) -> tuple[str, ...]:
    """Return the hosts as a cell's rules."""
    return tuple(sorted(written(host, port) for host, port in hosts))


def read_configuration(file: Path) -> str:
    """Return the text of a configuration file without comments; "" if it cannot be one."""
    if not file.is_file() or file.stat().st_size > _MOST_BYTES:
        return ""
    lines = file.read_text(errors="replace").splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith(("#", ";")))


def _names_proxy(text: str) -> bool:
    prefixes = (prefix.lower() for prefix in _PROXY.findall(text))
    return any(not prefix.rstrip("_-").endswith("no") for prefix in prefixes)


def _split(text: str) -> tuple[str, int]:
    host, _, port = text.partition(":")
    return host.lower(), int(port or 443)


def _is_local(host: str) -> bool:
    """Return True for this machine and for addresses, which the proxy refuses."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host in ("", "localhost")
    return True


# Settings of pip and npm, in their files and variables, that name files of this machine.
_FILE_NAMES = re.compile(r"(file://)?(/[^\s,;\"']+)")
_CONFIGURATIONS = ("/etc/pip.conf", "/etc/npmrc", "/usr/local/etc/npmrc")


@dataclass(frozen=True, slots=True)
class CelledClient:
    """A client's command, what the guard is told, and the descriptors that it gets."""

    command: list[str]
    limits: dict[str, Any] = field(default_factory=dict)
    proxy: CellProxy | None = None

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The descriptors to pass to the guard."""
        return self.proxy.descriptors if self.proxy else ()

    def serve(self) -> None:
        """Start the proxy, once the client runs."""
        if proxy := self.proxy:
            connection_loop.begin(lambda _: proxy.serve())


@contextmanager
def enter_cell(
    command: Sequence[str],
    place: Place,
    environment: dict[str, str],
    *,
    readable: Sequence[Path] | None = None,
) -> Iterator[CelledClient]:
    """Make the cell of a command, or none; `environment` gets other files and the proxy.

    With `readable`, it sees these files instead of the configured ones, and no network.
    """
    problem = cell_problem() if cells_wanted() else ""
    if problem and cells_required():
        raise PackageProblemError("no_cell", f"Packages are fetched only in a sandbox. {problem}")
    if not cells_wanted() or problem:
        yield CelledClient(list(command))
        return
    _copy_private_files(environment, place.scratch)
    give_folder(place.folder, CLIENT_USER, fully=True)
    hosts = Hosts() if readable is not None else find_index_hosts(_configuration(environment))
    files = _configured_files(environment) if readable is None else readable
    cell = Cell(
        readable=(*_client_files(command), *files),
        writable=(place.folder,),
        whole_network=hosts is None,
        hosts=HostRules(rules_of(hosts or frozenset())),
    )
    celled = build_command(
        find_bwrap(), command, cell, home=place.scratch, inside=str(place.scratch)
    )
    with _open_proxy(cell, hosts or frozenset()) as proxy:
        environment.update(proxy.variables)
        guarded = process_guard.describe_cell(
            compile_filter(), listener=proxy.descriptor, port=PROXY_PORT, groups=cell_groups()
        )
        yield CelledClient(celled, {"cell": guarded}, proxy)


def _configuration(environment: Mapping[str, str]) -> list[str]:
    files = (
        *_CONFIGURATIONS,
        *(variable for variable in environment.values() if variable.startswith("/")),
    )
    variables = [f"{name}={value}" for name, value in environment.items() if value]
    return [*variables, *(read_configuration(Path(file)) for file in files)]


def _client_files(command: Sequence[str]) -> list[Path]:
    """Return the files of Python, uv, or Node and npm; npm's script is in a folder of its own."""
    program = Path(command[0])
    if program.name.startswith("python"):
        return python_files(program)
    if program.name == "uv":
        # It asks the Python that it installs for: the environment's own, and the one behind it.
        python = Path(command[command.index("--python") + 1])
        return [program, *python_files(python.resolve())]
    scripts = [Path(part).parents[1] for part in command[1:2] if part.endswith("npm-cli.js")]
    return [*program_files(command[:1]), *scripts]


def _copy_private_files(environment: dict[str, str], scratch: Path) -> None:
    """Copy configuration that only root may read to where the client's own user may."""
    if os.geteuid() != 0:
        return
    for name, value in environment.items():
        file = Path(value)
        if file.is_absolute() and file.is_file() and not file.stat().st_mode & 0o004:
            environment[name] = str(shutil.copy(file, scratch / f"config-{name.lower()}"))


def _configured_files(environment: Mapping[str, str]) -> list[Path]:
    """Return local indexes, certificates and configuration files that an operator names."""
    texts = [value for name, value in environment.items() if "PATH" not in name]
    configured = [
        Path(name_or_path)
        for name_or_path in (*_CONFIGURATIONS, *environment.values())
        if name_or_path.startswith("/")
    ]
    for file in configured:
        if file.is_file() and file.stat().st_size < 100_000:
            texts.append(file.read_text(errors="replace"))
    mentioned = [
        # The links of an index's pages lead to folders beside it.
        Path(unquote(path)).parent if is_index else Path(path)
        for text in texts
        for is_index, path in _FILE_NAMES.findall(text)
    ]
    paths = [*configured, *sorted(mentioned)]
    home = Path(environment["HOME"])
    return [path for path in paths if path.exists() and path != home and may_show(path)]


@contextmanager
def _open_proxy(cell: Cell, hosts: Hosts) -> Iterator[CellProxy]:
    """Open a proxy on the connections' event loop; `serve` it once the client has started."""
    # By name alone: the operator configured these indexes, wherever a mirror has them.
    proxy = CellProxy(cell, httpcore2.AnyIOBackend(), AllowedHosts(frozenset(hosts)))
    connection_loop.run(lambda _: proxy.__aenter__())
    try:
        yield proxy
    finally:
        connection_loop.run(lambda _: proxy.close())
        connection_loop.run(lambda _: proxy.__aexit__(None, None, None))
