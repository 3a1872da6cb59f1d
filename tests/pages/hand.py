"""A person at the keyboard, in any language, window and theme, with counts of what they do.

A click is one link, button or box, or one field that is gone to. Keys are those of the keyboard
alone, with each Tab in between. Seconds are those of the keystroke-level model (Card, Moran and
Newell, 1980): 1.3 for a click, 0.2 for a character, and 1.35 to look at each answer.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from django.utils.translation import gettext, ngettext, override
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


@dataclass(frozen=True)
class Setting:
    """A language and a window. Narrow windows keep the list of pages behind a menu."""

    language: str = "en"
    width: int = 1440
    theme: Literal["light", "dark"] = "light"

    @property
    def is_narrow(self) -> bool:
        """Return True if pages are reached by the menu."""
        return self.width < 1000

    def __str__(self) -> str:
        return f"{self.language} {self.width} {self.theme}"


@dataclass
class Job:
    """Counts of a job."""

    name: str
    setting: Setting
    clicks: int = 0
    menus: int = 0
    characters: int = 0
    keys: int = 0
    looks: int = 1

    @property
    def seconds(self) -> float:
        """Return how long it takes with a mouse."""
        return 1.3 * self.clicks + 0.2 * self.characters + 1.35 * self.looks


@dataclass
class Hand:
    """A person at the keyboard. Each job takes the next setting."""

    page: Page
    settings: Sequence[Setting] = (Setting(),)
    done: list[Job] = field(default_factory=list)

    @contextmanager
    def job(self, name: str, start: str = "/today/") -> Iterator[None]:
        """Count a job from a page on."""
        setting = self.settings[len(self.done) % len(self.settings)]
        self.page.set_extra_http_headers({"Accept-Language": setting.language})
        self.page.set_viewport_size({"width": setting.width, "height": 900})
        self.page.emulate_media(color_scheme=setting.theme)
        self.page.goto(start)
        self.done.append(Job(name, setting))
        yield

    def note(self, name: str, *, characters: int) -> None:
        """Note a job of two commands."""
        self.done.append(Job(name, Setting(), characters=characters, keys=characters, looks=2))

    def count(self, *, keys: int = 0, characters: int = 0) -> None:
        """Count keys of the job at hand."""
        self.done[-1].keys += keys
        self.done[-1].characters += characters

    def say(self, text: str, many: str = "", **values: object) -> re.Pattern[str]:
        """Return a pattern for a text of the catalogue, in the language of the job at hand."""
        with override(self.done[-1].setting.language):
            said = ngettext(text, many, 2) if many else gettext(text)
        words = re.sub("<[^>]+>", " ", said % values if values else said).split()
        return re.compile(r"\s*".join(map(re.escape, words)), re.IGNORECASE)

    def visit(self, place: str) -> None:
        """Go to a page of the rail."""
        if self.done[-1].setting.is_narrow:
            self.press("button", "Pages")
            self.done[-1].menus += 1
        self._press(self.page.locator("#rail").get_by_role("link", name=self.say(place)).first)

    def press(
        self, role: str, text: str, key: str = "Enter", of: str = "", **values: object
    ) -> None:
        """Go to a link, button or box, and press it; `of` is what its hidden part names."""
        said = self.say(text, "", **values)
        name = re.compile(rf"{said.pattern}\W*{re.escape(of)}", re.IGNORECASE)
        self._press(self.page.get_by_role(role, name=name).first, key)  # type: ignore[arg-type]

    def _press(self, element: Locator, key: str = "Enter") -> None:
        self.go_to(element)
        self.page.keyboard.press(key)
        self.count(keys=1)
        self.done[-1].looks += key == "Enter"

    def fill(self, label: str, text: str, *, pasted: bool = False) -> None:
        """Go to a field and type, or paste."""
        self.go_to(self.field(label))
        self.page.keyboard.insert_text(text)
        typed = 1 if pasted else len(text)
        self.count(keys=typed, characters=typed)

    def field(self, label: str) -> Locator:
        """Return the field with a label of the catalogue."""
        return self.page.get_by_label(re.compile(rf"^\s*{self.say(label).pattern}\s*$")).first

    def go_to(self, element: Locator) -> None:
        """Give an element the focus, and count the way."""
        expect(element).to_be_visible()
        self.count(keys=int(element.evaluate(_TABS)))
        element.focus()
        self.done[-1].clicks += 1

    def see(self, text: str, many: str = "", **values: object) -> None:
        """Expect a text of the catalogue, with its plural for more than one."""
        expect(self.page.get_by_text(self.say(text, many, **values)).first).to_be_visible()

    def table(self) -> str:
        """Return what was counted as lines."""
        lines = ["job | clicks | seconds | characters | keys | setting"]
        for job in self.done:
            numbers = (job.clicks, f"{job.seconds:.0f}", job.characters, job.keys, job.setting)
            lines.append(" | ".join((job.name, *map(str, numbers))))
        return "\n".join(lines)
