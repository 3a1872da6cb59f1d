"""Settings as environment variables: their type, default and bounds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


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
