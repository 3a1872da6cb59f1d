"""Parts of `make run` that are down: a file that the supervisor writes and the web reads."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from acl.platform.strict_json import parse_json

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
