"""An answer of the playground, made ready to be shown: one, or two side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.http import urlencode

from acl.pages.frame import Frame, PageRequest
from acl.rights.caller import Caller
from catalog.access.grounds import Ground
from discovery.calls.shown_parameters import Parameter, parameters_of
from discovery.pages.answer_differences import Difference, Mark, difference, marks
from discovery.pages.playground_callers import label_of, other_caller_of
from discovery.pages.playground_forms import PlaygroundForm
from discovery.pages.selection_preview import Tried, try_message
from discovery.select.selection import Asked, Selected, Selection
from discovery.select.why_not import WhyNot, why_not

PARTS = (
    ("embedding", "embedding"),
    ("sql", "database"),
    ("ranking", "ranking"),
    ("rendering", "reasons"),
)
NEXT_IN_LINE = 5
LONGEST_QUOTE = 80


@dataclass(frozen=True, slots=True)
class Row:
    """One tool of an answer: what it takes, by which right it is there, and how it stands in the
    other answer."""

    item: Selected
    parameters: Sequence[Parameter]
    ground: Ground | None
    why: str  # the address that explains the right, where there is one
    mark: Mark | None


@dataclass(frozen=True, slots=True)
class Missed:
    """One that competed and has no place."""

    full_name: str
    display_name: str
    score: float


@dataclass(frozen=True, slots=True)
class Read:
    """How the message was read, beside what it says by itself."""

    after: str  # the earlier message that it leans on
    alone: bool  # there are earlier messages, and none was needed
    clauses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Side:
    """One answer."""

    label: str
    tried: Tried
    rows: tuple[Row, ...]
    why: WhyNot | None
    explained: str  # where Explain tells more of it, for admins

    @property
    def selection(self) -> Selection:
        return self.tried.selection

    @property
    def fitting(self) -> list[Selected]:
        """Without what comes along: because another needs it, or always."""
        selected = self.selection.selected
        return [item for item in selected if not item.pinned and not item.needed_by]

    @property
    def brought(self) -> int:
        """How many are there because another needs them."""
        return sum(bool(item.needed_by) for item in self.selection.selected)

    @property
    def pinned(self) -> bool:
        """Whether anything is sent along always."""
        return any(item.pinned for item in self.selection.selected)

    @property
    def sent_percent(self) -> int:
        """How much of everything is sent; all of it where there is nothing to send."""
        if not self.selection.tokens_all:
            return 100
        return round(100 * self.selection.tokens_selected / self.selection.tokens_all)

    @property
    def saved_percent(self) -> int:
        return 100 - self.sent_percent

    @property
    def parts(self) -> list[tuple[str, float]]:
        """Where the time went."""
        return [(label, self.selection.timings.get(part, 0.0)) for part, label in PARTS]

    @property
    def all_tools(self) -> int:
        """How many the caller may use."""
        return len(self.selection.selected) + self.selection.excluded_count

    @property
    def missed(self) -> list[Missed]:
        """The next in line; after small talk there is no line."""
        workings = None if self.selection.small_talk else self.selection.workings
        there = {item.pk for item in self.selection.selected}
        ranked = (item for item in (workings.ranked if workings else ()))
        left = [item for item in ranked if item.candidate.pk not in there]
        return [
            Missed(item.candidate.full_name, item.candidate.display_name, item.score)
            for item in left[:NEXT_IN_LINE]
        ]

    @property
    def competing(self) -> list[str]:
        """The names of all that competed, to suggest."""
        workings = self.selection.workings
        return sorted(item.candidate.full_name for item in workings.ranked) if workings else []

    @property
    def read(self) -> Read:
        workings, said = self.selection.workings, self.tried.asked.history
        if workings is None:
            return Read("", False, ())
        clauses = workings.texts[1:] if len(workings.texts) > 2 else ()
        after = said[-1] if workings.in_context and said else ""
        return Read(_quoted(after), bool(said) and not after, tuple(map(_quoted, clauses)))


@dataclass(frozen=True, slots=True)
class Compared:
    """Two answers, and what differs."""

    sides: tuple[Side, Side]
    difference: Difference


def one_answer(request: PageRequest, form: PlaygroundForm, frame: Frame, caller: Caller) -> Side:
    """The answer to the question as it stands."""
    tried = _try(request, form.asked(caller))
    return _side(_Seen(request, form, frame, form.cleaned_data["user"]), tried)


def compare(
    request: PageRequest, form: PlaygroundForm, frame: Frame, caller: Caller
) -> Compared | None:
    """The answer and the one beside it; None where there is no such second caller."""
    asked = form.asked(caller)
    who, other_who = form.cleaned_data["user"], form.cleaned_data["user"]
    if form.cleaned_data["vs"] == "settings":
        other = form.asked_otherwise(asked)
        labels = settings_in_words(asked, other)
    else:
        second = other_caller_of(request, form, frame)
        if second is None:
            return None
        other, other_who = form.asked(second), form.cleaned_data["vs_user"]
        labels = (
            label_of(request, form, caller, other=False),
            label_of(request, form, second, other=True),
        )
    one, two = _try(request, asked), _try(request, other)
    names = [[item.full_name for item in each.selection.selected] for each in (one, two)]
    seen, also_seen = (_Seen(request, form, frame, each) for each in (who, other_who))
    sides = (
        _side(seen, one, labels[0], marks(names[0], names[1])),
        _side(also_seen, two, labels[1], marks(names[1], names[0])),
    )
    return Compared(sides, difference(names[0], names[1]))


def settings_in_words(asked: Asked, other: Asked) -> tuple[str, str]:
    """Of both questions, the settings in which they differ."""
    pairs = zip(_settings(asked), _settings(other), strict=True)
    differing = [pair for pair in pairs if pair[0] != pair[1]]
    if not differing:
        return "As it is", "The same"
    return _listed([one for one, _ in differing]), _listed([two for _, two in differing])


def _settings(asked: Asked) -> tuple[str, ...]:
    kind = "every kind" if asked.kind in {"", "any", "all"} else f"only the kind {asked.kind}"
    return (
        f"{asked.max_tools} {'tool' if asked.max_tools == 1 else 'tools'} at most",
        kind,
        "relations count" if asked.use_graph else "relations do not count",
        "with earlier messages" if asked.history else "without earlier messages",
    )


def _listed(parts: Sequence[str]) -> str:
    text = ", ".join(parts)
    return text[:1].upper() + text[1:]


def _try(request: PageRequest, asked: Asked) -> Tried:
    return try_message(asked, to_themselves=asked.caller.user_id == request.user.pk)


@dataclass(frozen=True, slots=True)
class _Seen:
    """Who looks, at what, and as whom; no name means themselves."""

    request: PageRequest
    form: PlaygroundForm
    frame: Frame
    name: str

    def explained_at(self, caller: Caller, full_name: str) -> str:
        """Where the right to a tool is explained; people read of their own, where they work."""
        if self.request.user.is_staff:
            username = self.name or self.request.user.get_username()
            return explain_address(username, caller, full_name)
        own = caller == self.frame.caller
        return reverse("tool-why", args=[full_name]) if own else ""


def _side(
    seen: _Seen, tried: Tried, label: str = "", compared: Mapping[str, Mark] | None = None
) -> Side:
    rows = tuple(
        Row(
            item=item,
            parameters=parameters_of(item.input_schema),
            ground=tried.grounds.get(item.pk),
            why=seen.explained_at(tried.asked.caller, item.full_name),
            mark=(compared or {}).get(item.full_name),
        )
        for item in tried.selection.selected
    )
    why = _why(seen, tried)
    known = why is not None and why.rights is not None
    explained = seen.explained_at(tried.asked.caller, why.name) if why and known else ""
    return Side(label, tried, rows, why, explained)


def _why(seen: _Seen, tried: Tried) -> WhyNot | None:
    name = seen.form.cleaned_data["why"].strip()
    if not name:
        return None
    by_admin = seen.request.user.is_staff
    return why_not(asked=tried.asked, selection=tried.selection, name=name, by_admin=by_admin)


def explain_address(username: str, caller: Caller, full_name: str) -> str:
    """Where admins read why somebody may or may not use something."""
    asked: dict[str, str | int] = {"user": username, "group": caller.group_id}
    if caller.space_id:
        asked["space"] = caller.space_id
    return f"{reverse('access-explain')}?{urlencode({**asked, 'capability': full_name})}"


def _quoted(text: str) -> str:
    return text if len(text) <= LONGEST_QUOTE else f"{text[: LONGEST_QUOTE - 1]}…"
