"""Contents and network of one program's cell. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from catalog.servers.cell.allowed_hosts import HostRules

HOME = "/home/program"
# A port of the cell's own loopback, which nothing else uses.
PROXY_PORT = 3128
MB = 1024 * 1024
TMP_BYTES = 128 * MB
SHARED_MEMORY_BYTES = 64 * MB
SCRATCH_BYTES = 256 * MB
# Where Pegboard runs as root, programs are users of their own; Debian gives out none of these ids.
FIRST_USER, USERS = 64_000, 900
CLIENT_USER = FIRST_USER + USERS
READER_USER = CLIENT_USER + 1


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell's contents, beside the system's libraries."""

    # Read-only and writable folders and files, at their own paths.
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    # The machine's whole network, or only these hosts.
    whole_network: bool = False
    hosts: HostRules = field(default_factory=HostRules)
    # Whose attempts are recorded; 0 for none.
    integration: int = 0
    user: int = CLIENT_USER


def user_of(integration: int) -> int:
    """Return the user id of an integration's programs."""
    return FIRST_USER + integration % USERS


def proxy_variables() -> Mapping[str, str]:
    """Return the variables that lead HTTP clients to the cell's proxy."""
    address = f"http://127.0.0.1:{PROXY_PORT}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    here = "localhost,127.0.0.1,::1"
    return {
        **dict.fromkeys(names, address),
        **{name.lower(): address for name in names},
        "NO_PROXY": here,
        "no_proxy": here,
        # Node's own clients use a proxy only if told so.
        "NODE_USE_ENV_PROXY": "1",
    }
