"""Where two rules together give an answer that their authors may not expect, in words.

The cases are those of `docs/access.md`. Nothing is decided here: the statement decides.
"""

from collections.abc import Iterator
from dataclasses import dataclass

EFFECTS = ("deny", "propose", "allow")
EVERYONE = "everyone"


@dataclass(frozen=True, slots=True)
class Warning_:  # Python has a Warning of its own
    """What will surprise, and what works instead. `case` is the number in docs/access.md."""

    case: int
    sentence: str
    instead: str

    def __str__(self) -> str:
        return f"{self.sentence} {self.instead}"


@dataclass(frozen=True, slots=True)
class Said:
    """What a rule says, by names. `narrow` is 0 for everyone, 1 for a group, 2 for one user."""

    effect: int
    space: str
    target: str
    on_capability: bool
    subject: str = EVERYONE
    narrow: int = 0

    def __str__(self) -> str:
        whom = f" for {self.subject}" if self.narrow else ""
        return f"{EFFECTS[self.effect]} {self.target}{whom}"


def in_one_space(deny: Said, other: Said) -> Iterator[Warning_]:
    """A deny beside an allow or a propose that was meant as its exception: cases 27 and 31."""
    beats = f"In {deny.space}, “{deny}” beats “{other}”: within one space the stricter rule wins."
    below = f"put “{other}” in a space below {deny.space}"
    if other.on_capability and not deny.on_capability:
        grant = f"Instead of denying {deny.target}, grant only {other.target}; or {below}."
        yield Warning_(27, beats, grant)
    if other.narrow > deny.narrow:
        grant = f"Instead of denying it for {deny.subject}, give it only to those who may have it"
        yield Warning_(31, beats, f"{grant}; or {below}.")


def further_up(deny: Said, other: Said) -> Iterator[Warning_]:
    """A precise deny, and a broader allow or propose in a space below its own: case 30."""
    precise = deny.on_capability and not other.on_capability
    if precise or deny.narrow > other.narrow:
        beats = (
            f"“{other}” in {other.space} beats “{deny}” in {deny.space}: the nearer space wins, "
            "however precise the rule further up is."
        )
        whom = f" for {deny.subject}" if deny.narrow else ""
        also = f"To keep {deny.target} out{whom}, deny it in {other.space} as well."
        yield Warning_(30, beats, also)
