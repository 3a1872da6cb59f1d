"""The disk guard: holds writes to the embedded Postgres before its disk is full.

Postgres ends itself when its log finds no room, and cannot start again until there is some. While
writes are held, reading goes on, and each write is refused with a reason.
"""

import json
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from acl.platform.strict_json import parse_json
from marketplace.operate.embedded.postgres import EmbeddedPostgres

HOLD_BELOW = 64 * 1024**2  # bytes
# Well above, so that writing does not stop and go.
RELEASE_ABOVE = 128 * 1024**2
# Given up when writes are held: whatever filled the disk may have left nothing, and a checkpoint
# needs some small files.
RESERVE = 32 * 1024**2


class DiskGuard:
    """Watches the free space of the embedded Postgres's disk.

    `say` prints a line for the operator. `released` is called when there is room again.
    """

    def __init__(
        self,
        server: EmbeddedPostgres,
        *,
        say: Callable[[str], object],
        released: Callable[[], object] = lambda: None,
    ) -> None:
        self._server = server
        self._reserve = server.folder.with_name("disk_reserve")
        self._say = say
        self._released = released
        self._held = False
        keep_reserve(self._reserve)

    def look(self) -> None:
        """Hold or release writes if the free space has passed a bound."""
        free = shutil.disk_usage(self._server.folder).free
        hold = free < HOLD_BELOW if not self._held else free <= RELEASE_ABOVE
        if hold == self._held:
            return
        try:
            self._server.hold_writes(hold)
        except OSError:  # not even in place: the next look tries again
            return
        self._held = hold
        if hold:
            self._reserve.unlink(missing_ok=True)
            self._say("The disk is almost full: Pegboard only reads until there is room again.")
        else:
            keep_reserve(self._reserve)
            self._say("There is room on the disk again: Pegboard writes.")
            self._released()


def keep_reserve(file: Path) -> None:
    """Take up RESERVE bytes of the disk, where there is room for them."""
    with suppress(OSError), file.open("wb") as reserve:
        reserve.write(bytes(RESERVE))


# Parts of `make run` that are down: a file that the supervisor writes and the web reads.

_FILE = "parts.json"
_EFFECTS = {
    "Postgres": gettext_lazy("Nothing can be read or written."),
    "Redis": gettext_lazy("Caches are not shared, and tasks wait."),
    "Broker": gettext_lazy("Calls that need a secret fail; selecting goes on."),
    "Web": gettext_lazy("Nobody is answered."),
    "Worker": gettext_lazy("Installing and embedding wait; selecting goes on."),
    "Connections": gettext_lazy("Calls of tools wait; selecting goes on."),
    "Manifests": gettext_lazy("Changed manifests are not loaded."),
}


@dataclass(frozen=True, slots=True)
class BrokenPart:
    """Number of failed starts of a part that is down, and the reason of the last."""

    attempts: int
    reason: str


def describe_broken_part(name: str, part: BrokenPart) -> str:
    """Return a sentence for admins: what is down, what it costs, and why."""
    sentence = _("%(part)s is down (start %(attempts)d has failed). %(effect)s Reason: %(reason)s.")
    effect = _EFFECTS.get(name, _("What needs it waits."))
    facts = {"part": name, "attempts": part.attempts, "effect": effect}
    return sentence % (facts | {"reason": part.reason.rstrip(".")})


def write_broken_parts(data: Path, parts: Mapping[str, BrokenPart]) -> None:
    """Replace the file. A full disk keeps it as it was: states are not worth ending anything."""
    draft = data / f"{_FILE}.new"
    try:
        draft.write_text(json.dumps({name: asdict(part) for name, part in parts.items()}))
        draft.replace(data / _FILE)
    except OSError:
        return


def read_broken_parts(data: Path) -> dict[str, BrokenPart]:
    """Return the parts that are down, by name. Nothing where no supervisor has written any."""
    try:
        parts = parse_json((data / _FILE).read_bytes())
        return {
            str(name): BrokenPart(int(part["attempts"]), str(part["reason"]))
            for name, part in parts.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
