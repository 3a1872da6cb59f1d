"""The disk guard: holds writes to the embedded Postgres before its disk is full.

Postgres ends itself when its log finds no room, and cannot start again until there is some. While
writes are held, reading goes on, and each write is refused with a reason.
"""

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from marketplace.operate.embedded.embedded_postgres import EmbeddedPostgres

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
