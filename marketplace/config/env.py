"""Settings as environment variables: their type, default and bounds."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

PREFIX = "PEGBOARD_"
# What begins like a setting and is none: variables of clients, of the proxy, of the container's
# health check, and of tests.
_OF_OTHERS = re.compile(
    f"{PREFIX}(KEY|URL|SITE|TLS|UPSTREAM|ALIVE_FILE|CPU_TIMES|SCREENS|TEST_.+|SCREENS_.+)"
)
# Kubernetes gives these to each container for each service, such as one that is named pegboard-web.
_OF_KUBERNETES = re.compile(
    r"_SERVICE_(?:HOST|PORT)(?:_|\Z)|_PORT(?:_[0-9]{1,5}_(?:TCP|UDP|SCTP)(?:_|\Z)|\Z)"
)


class SettingsError(Exception):
    """Invalid environment variables, one line each."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting, read from the environment variable `name`.

    `least` and `most` bound numbers. `wrong` returns an error message for a text, or "".
    """

    name: str
    default: Any
    meaning: str
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    wrong: Callable[[str], str] = lambda text: ""

    def read(self, environ: Mapping[str, str]) -> Any:
        """Return the value from `environ`, or the default; ValueError says what is allowed."""
        text = environ.get(self.name, "").strip()
        if not text:
            return self.default
        value = _convert(text, type(self.default))
        if self.least is not None and value < self.least:
            raise ValueError(f"must be at least {self.least}, not {text}")
        if self.most is not None and value > self.most:
            raise ValueError(f"must be at most {self.most}, not {text}")
        if self.choices and value not in self.choices:
            raise ValueError(f"must be one of {', '.join(self.choices)}, not {text!r}")
        if problem := self.wrong(text):
            raise ValueError(problem)
        return value


def find_unknown(environ: Mapping[str, str], names: Collection[str]) -> Iterator[str]:
    """Yield an error for each variable that is named like a setting and is none."""
    for name in sorted(environ):
        is_ours = name.startswith(PREFIX) and name not in names
        if not is_ours or _OF_OTHERS.fullmatch(name) or _OF_KUBERNETES.search(name):
            continue
        nearest = get_close_matches(name, names, n=1, cutoff=0.75)
        advice = f"do you mean {nearest[0]}?" if nearest else "docs/settings.md lists all."
        yield f"{name} is no setting: {advice}"


def separated(text: str, *, by: str) -> tuple[str, ...]:
    """Split a text and strip its parts, leaving out empty ones."""
    return tuple(part.strip() for part in text.split(by) if part.strip())


def _convert(text: str, kind: type) -> Any:
    if kind is bool:
        if text.lower() in {"1", "true", "yes", "on"}:
            return True
        if text.lower() in {"0", "false", "no", "off"}:
            return False
        raise ValueError(f"must be true or false, not {text!r}")
    if kind is tuple:
        return separated(text, by=",")
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"must be a number, not {text!r}") from None
