"""Sections of Today: rows of a kind, each with its page, and what can be decided in place."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from catalog.icons.declarations import Face
from marketplace.integrations.review_decisions import DefinitionChange

MOST = 8


@dataclass(frozen=True, slots=True)
class Fact:
    """A changed fact: its label, the value before, and the value after."""

    label: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class PendingDefinition:
    """A definition waiting for review, as the list shows it."""

    key: int
    change: DefinitionChange
    is_short: bool

    @property
    def choice(self) -> str:
        """Return the value of its checkbox: the definition, and the digest of what is displayed."""
        return f"{self.key}:{self.change.seen}"

    @property
    def objection(self) -> str:
        """Return why the list does not approve it, or ""."""
        if self.change.findings or self.change.problem:
            return _("Something in it looks suspicious. Review it on its page.")
        return "" if self.is_short else _("It is too long for this list. Review it on its page.")

    @property
    def can_be_chosen(self) -> bool:
        """Return True if all that is approved can be seen here, and nothing is suspicious."""
        return not self.objection


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its name, what is the matter, and the link that handles it."""

    title: str
    words: str
    address: str
    action: str
    label: str = ""
    tone: str = ""
    icon: str = ""
    value: str = ""  # of its button
    choice: str = ""  # of its checkbox
    facts: tuple[Fact, ...] = ()
    face: Face | None = None  # of an integration
    definitions: tuple[PendingDefinition, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """The first rows of a kind, the number of all, and the page that has them all."""

    rows: tuple[Row, ...] = ()
    count: int = 0
    address: str = ""

    @property
    def more(self) -> int:
        """Return how many rows are left out."""
        return self.count - len(self.rows)

    @property
    def choices(self) -> int:
        """Return how many rows and definitions can be chosen."""
        definitions = (definition for row in self.rows for definition in row.definitions)
        return sum(bool(row.choice) for row in self.rows) + sum(
            definition.can_be_chosen for definition in definitions
        )


@dataclass(frozen=True, slots=True)
class Decisions:
    """Outcome of several decisions: the number of things decided, and what was refused."""

    done: int
    refusals: tuple[str, ...]


def read_keys(choices: Sequence[str]) -> list[int]:
    """Return the choices that are keys of rows."""
    return [int(key) for key in choices if key.isdecimal() and len(key) < 12]


def read_choices(choices: Sequence[str]) -> dict[str, str]:
    """Return what follows the first colon of each choice, by what precedes it."""
    return dict(choice.partition(":")[::2] for choice in choices)
