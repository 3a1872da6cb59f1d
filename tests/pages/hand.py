"""A person at the keyboard, with counts of what they do.

A click is one link, button or box, or one field that is gone to. Keys are those of the keyboard
alone, with each Tab in between. Seconds are those of the keystroke-level model (Card, Moran and
Newell, 1980): 1.3 for a click, 0.2 for a character, and 1.35 to look at each answer.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import Locator, Page, expect

# Tab stops between what has the focus and an element, the shorter way round.
_TABS = """
(wanted) => {
  const stops = [...document.querySelectorAll(
    "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]")]
    .filter((one) => one.tabIndex >= 0 && !one.disabled && one.checkVisibility())
    .filter((one) => one === wanted || one.type !== "radio" || one.checked);
  const from = stops.indexOf(document.activeElement), to = stops.indexOf(wanted);
  const forward = (to - from + stops.length) % stops.length;
  return Math.min(forward, from < 0 ? forward : stops.length - forward);
}
"""


@dataclass
class Job:
    """Counts of a job."""

    name: str
    clicks: int = 0
    characters: int = 0
    keys: int = 0
    looks: int = 1

    @property
    def seconds(self) -> float:
        """Return how long it takes with a mouse."""
        return 1.3 * self.clicks + 0.2 * self.characters + 1.35 * self.looks


@dataclass
class Hand:
    """A person at the keyboard. `words` are the texts of another language."""

    page: Page
    words: Mapping[str, str] = field(default_factory=dict)
    done: list[Job] = field(default_factory=list)

    @contextmanager
    def job(self, name: str, start: str = "/today/") -> Iterator[None]:
        """Count a job from a page on."""
        self.page.goto(start)
        self.done.append(Job(name))
        yield

    def note(self, name: str, *, characters: int) -> None:
        """Note a job of two commands."""
        self.done.append(Job(name, characters=characters, keys=characters, looks=2))

    def count(self, *, keys: int = 0, characters: int = 0) -> None:
        """Count keys of the job at hand."""
        self.done[-1].keys += keys
        self.done[-1].characters += characters

    def press(self, role: str, name: str, key: str = "Enter") -> None:
        """Go to a link, button or box, and press it."""
        name = self.words.get(name, name)
        self.go_to(self.page.get_by_role(role, name=name).first)  # type: ignore[arg-type]
        self.page.keyboard.press(key)
        self.count(keys=1)
        self.done[-1].looks += role != "checkbox"

    def fill(self, label: str, text: str, *, pasted: bool = False) -> None:
        """Go to a field and type, or paste."""
        self.go_to(self.page.get_by_label(label, exact=True).first)
        self.page.keyboard.insert_text(text)
        typed = 1 if pasted else len(text)
        self.count(keys=typed, characters=typed)

    def go_to(self, element: Locator) -> None:
        """Give an element the focus, and count the way."""
        expect(element).to_be_visible()
        self.count(keys=int(element.evaluate(_TABS)))
        element.focus()
        self.done[-1].clicks += 1

    def text(self, text: str) -> Locator:
        """Return the element with a text."""
        return self.page.get_by_text(self.words.get(text, text))

    def table(self) -> str:
        """Return what was counted as lines."""
        lines = ["job | clicks | characters | keys | seconds"]
        for job in self.done:
            numbers = (job.clicks, job.characters, job.keys, f"{job.seconds:.0f}")
            lines.append(" | ".join((job.name, *map(str, numbers))))
        return "\n".join(lines)
