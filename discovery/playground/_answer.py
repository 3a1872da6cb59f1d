"""Answers of the playground, prepared for display: one, or two side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from acl.rights.caller_lookup import Caller
from acl.web.frame import Frame, PageRequest, usual_value
from catalog.access.my_tools import Ground, grounds_for
from catalog.icons import Face, faces_of
from catalog.models import Capability
from catalog.readiness.readiness import MendLink, ToolReadiness, mend_link
from catalog.schemas import Parameter, list_parameters
from discovery.advice.advised import select_advised
from discovery.answer.tiers import TierOptions
from discovery.playground._callers import PlaygroundForm, describe_caller, find_other_caller
from discovery.select.selection import Selected, Selection, SelectRequest
from discovery.select.selector import select_capabilities
from discovery.select.why_not import WhyNot, why_not
from discovery.turns.discover import TieredDiscovery, tier_request, write_tiers

# Preview of a selection, and the right to each tool in it. Stores no turn.

_READ = ("full_name", "integration__title")


@dataclass(frozen=True, slots=True)
class SelectionPreview:
    """A request, its selection, and the ground of each tool by primary key."""

    asked: SelectRequest
    selection: Selection
    grounds: dict[int, Ground]


def preview_selection(request: SelectRequest, *, to_themselves: bool) -> SelectionPreview:
    """Select for the message and explain the rights, in three statements; one if nothing is
    selected.

    `to_themselves` is True if the caller is the reader.
    """
    selection = select_advised(request)
    chosen = Capability.objects.filter(pk__in=[item.pk for item in selection.selected])
    usable = Capability.objects.usable_by(request.caller, among=chosen)
    rows = list(usable.select_related("integration").only(*_READ)) if selection.selected else []
    grounds = (
        grounds_for(caller=request.caller, capabilities=rows, to_themselves=to_themselves)
        if rows
        else {}
    )
    return SelectionPreview(request, selection, grounds)


def preview_tiers(request: SelectRequest) -> TieredDiscovery:
    """Write the tiers for the same message, with the deployment's options."""
    options = TierOptions.of_the_deployment()
    request = tier_request(request, options)
    return write_tiers(request, select_capabilities(request), options=options)


# Comparison of two answers: what only one of them has, and what changed places.
# Places are compared among the tools in both, so a tool that is new at the top moves no other.


@dataclass(frozen=True, slots=True)
class Mark:
    """Place of a capability in an answer, compared with the other answer."""

    place: int  # from 1
    elsewhere: int | None  # place in the other answer, or None
    moved: int = 0  # places nearer to the top than in the other answer; negative if further down

    @property
    def only_here(self) -> bool:
        return self.elsewhere is None

    @property
    def in_words(self) -> str:
        """Return direction and number of places."""
        places = abs(self.moved)
        if self.moved > 0:
            text = ngettext("%(count)s place higher", "%(count)s places higher", places)
        else:
            text = ngettext("%(count)s place lower", "%(count)s places lower", places)
        return text % {"count": places}


@dataclass(frozen=True, slots=True)
class DifferenceCounts:
    """Counts of all differences."""

    only_first: int
    only_second: int
    moved: int

    @property
    def nothing(self) -> bool:
        return not (self.only_first or self.only_second or self.moved)


def compare_places(names: Sequence[str], other_names: Sequence[str]) -> dict[str, Mark]:
    """Return the marks of an answer by full name; both answers best first."""
    places = {name: place for place, name in enumerate(other_names, 1)}
    shared_places = {
        name: place for place, name in enumerate(name for name in names if name in places)
    }
    other_places = {
        name: place
        for place, name in enumerate(name for name in other_names if name in shared_places)
    }
    return {
        name: Mark(
            place,
            places.get(name),
            other_places[name] - shared_places[name] if name in shared_places else 0,
        )
        for place, name in enumerate(names, 1)
    }


def count_differences(first: Sequence[str], second: Sequence[str]) -> DifferenceCounts:
    """Count the tools in only one of the answers, and the tools that moved."""
    first_marks, second_marks = compare_places(first, second), compare_places(second, first)
    return DifferenceCounts(
        only_first=sum(mark.only_here for mark in first_marks.values()),
        only_second=sum(mark.only_here for mark in second_marks.values()),
        moved=sum(mark.moved != 0 for mark in first_marks.values()),
    )


PARTS = (
    ("embedding", gettext_noop("embedding")),
    ("sql", gettext_noop("database")),
    ("ranking", gettext_noop("ranking")),
    ("rendering", gettext_noop("reasons")),
)
MAX_RUNNERS_UP = 5
LONGEST_QUOTE = 80


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """A tool of an answer: its parameters, the right to it, and its place in the other answer."""

    item: Selected
    face: Face | None  # None if the integration has gone meanwhile
    parameters: Sequence[Parameter]
    ground: Ground | None
    why: str  # URL of the explanation of the right, or ""
    mend: MendLink | None  # for the reader, who may be an admin looking as someone else
    mark: Mark | None


@dataclass(frozen=True, slots=True)
class RunnerUp:
    """A candidate with a rank but without a place."""

    full_name: str
    display_name: str
    score: float


@dataclass(frozen=True, slots=True)
class MessageReading:
    """Interpretation of the message."""

    after: str  # the earlier message that gave it context, or ""
    alone: bool  # earlier messages exist, but were not needed
    clauses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Side:
    """An answer, alone or beside another one."""

    label: str
    tried: SelectionPreview
    rows: tuple[AnswerRow, ...]
    why: WhyNot | None
    explained: str  # URL of the explanation, for admins

    @property
    def selection(self) -> Selection:
        return self.tried.selection

    @property
    def fitting(self) -> list[Selected]:
        """Return the tools that match, without dependencies and pinned ones."""
        selected = self.selection.selected
        return [item for item in selected if not item.pinned and not item.needed_by]

    @property
    def usual_readiness(self) -> ToolReadiness | None:
        """Return the readiness that nearly all rows share, which is said once above them."""
        by_state = {item.readiness.state: item.readiness for item in self.selection.selected}
        usual = usual_value(item.readiness.state for item in self.selection.selected)
        return None if usual is None else by_state[usual]

    @property
    def brought(self) -> int:
        """Return the number of tools included as dependencies."""
        return sum(bool(item.needed_by) for item in self.selection.selected)

    @property
    def pinned(self) -> bool:
        """Return True if a pinned tool is included."""
        return any(item.pinned for item in self.selection.selected)

    @property
    def sent_percent(self) -> int:
        """Return the share of all tokens that is sent; 100 if there are none."""
        if not self.selection.tokens_all:
            return 100
        return round(100 * self.selection.tokens_selected / self.selection.tokens_all)

    @property
    def saved_percent(self) -> int:
        return 100 - self.sent_percent

    @property
    def parts(self) -> list[tuple[str, float]]:
        """Return the time of each part."""
        return [(_(label), self.selection.timings.get(part, 0.0)) for part, label in PARTS]

    @property
    def all_tools(self) -> int:
        """Return the number of tools that the caller may use."""
        return len(self.selection.selected) + self.selection.excluded_count

    @property
    def missed(self) -> list[RunnerUp]:
        """Return the highest-ranked candidates that were not selected; none for small talk."""
        workings = None if self.selection.small_talk else self.selection.workings
        selected_keys = {item.pk for item in self.selection.selected}
        ranked = (item for item in (workings.ranked if workings else ()))
        missing = [item for item in ranked if item.candidate.pk not in selected_keys]
        return [
            RunnerUp(item.candidate.full_name, item.candidate.display_name, item.score)
            for item in missing[:MAX_RUNNERS_UP]
        ]

    @property
    def competing(self) -> list[str]:
        """Return the names of all candidates, as suggestions."""
        workings = self.selection.workings
        return sorted(item.candidate.full_name for item in workings.ranked) if workings else []

    @property
    def read(self) -> MessageReading:
        workings, history = self.selection.workings, self.tried.asked.history
        if workings is None:
            return MessageReading("", False, ())
        after = history[-1] if workings.in_context and history else ""
        return MessageReading(
            _quoted(after), bool(history) and not after, tuple(map(_quoted, workings.clauses))
        )


@dataclass(frozen=True, slots=True)
class AnswerComparison:
    """Two answers and their differences."""

    sides: tuple[Side, Side]
    difference: DifferenceCounts


def answer_message(
    request: PageRequest, form: PlaygroundForm, frame: Frame, caller: Caller
) -> Side:
    """Answer the form's request."""
    tried = _try(request, form.selection_request(caller))
    return _side(_Viewer(request, form, frame, form.cleaned_data["user"]), tried)


def compare_answers(
    request: PageRequest, form: PlaygroundForm, frame: Frame, caller: Caller
) -> AnswerComparison | None:
    """Answer for both callers or settings; None if the second caller does not exist."""
    first_request = form.selection_request(caller)
    who, other_who = form.cleaned_data["user"], form.cleaned_data["user"]
    if form.cleaned_data["vs"] == "settings":
        other_request = form.second_request(first_request)
        labels = settings_in_words(first_request, other_request)
    else:
        second = find_other_caller(request, form, frame)
        if second is None:
            return None
        other_request, other_who = form.selection_request(second), form.cleaned_data["vs_user"]
        labels = (
            describe_caller(request, form, caller, is_other=False),
            describe_caller(request, form, second, is_other=True),
        )
    first, two = _try(request, first_request), _try(request, other_request)
    names = [[item.full_name for item in entry.selection.selected] for entry in (first, two)]
    viewer, other_viewer = (_Viewer(request, form, frame, entry) for entry in (who, other_who))
    sides = (
        _side(viewer, first, labels[0], compare_places(names[0], names[1])),
        _side(other_viewer, two, labels[1], compare_places(names[1], names[0])),
    )
    return AnswerComparison(sides, count_differences(names[0], names[1]))


def settings_in_words(first: SelectRequest, second: SelectRequest) -> tuple[str, str]:
    """Describe each request by the settings in which they differ."""
    pairs = zip(_settings(first), _settings(second), strict=True)
    differing = [pair for pair in pairs if pair[0] != pair[1]]
    if not differing:
        return _("Current settings"), _("Same settings")
    return ", ".join(first_setting for first_setting, second in differing), ", ".join(
        second for first_setting, second in differing
    )


def _settings(request: SelectRequest) -> tuple[str, ...]:
    most = ngettext("At most %(count)s tool", "At most %(count)s tools", request.max_tools)
    every_kind = request.kind in {"", "any", "all"}
    return (
        most % {"count": request.max_tools},
        _("All kinds") if every_kind else _("Kind: %(kind)s") % {"kind": request.kind},
        _("Relations used") if request.use_graph else _("Relations ignored"),
        _("With earlier messages") if request.history else _("Without earlier messages"),
    )


def _try(request: PageRequest, selection_request: SelectRequest) -> SelectionPreview:
    return preview_selection(
        selection_request, to_themselves=selection_request.caller.user_id == request.user.pk
    )


@dataclass(frozen=True, slots=True)
class _Viewer:
    """The viewer, the form, and the name of the user they look as ("" for themselves)."""

    request: PageRequest
    form: PlaygroundForm
    frame: Frame
    name: str

    def explained_at(self, caller: Caller, full_name: str) -> str:
        """Return the URL that explains a right; people may read only about their own group."""
        if self.request.user.is_staff:
            username = self.name or self.request.user.get_username()
            return explain_address(username, caller, full_name)
        is_own = caller == self.frame.caller
        return reverse("tool-why", args=[full_name]) if is_own else ""


def _side(
    viewer: _Viewer,
    tried: SelectionPreview,
    label: str = "",
    compared: Mapping[str, Mark] | None = None,
) -> Side:
    faces = faces_of(item.integration for item in tried.selection.selected)
    rows = tuple(
        AnswerRow(
            item=item,
            face=faces.get(item.integration),
            parameters=list_parameters(item.input_schema),
            ground=tried.grounds.get(item.pk),
            why=viewer.explained_at(tried.asked.caller, item.full_name),
            mend=_mend_for_reader(viewer, tried, item),
            mark=(compared or {}).get(item.full_name),
        )
        for item in tried.selection.selected
    )
    why = _why(viewer, tried)
    has_rights = why is not None and why.rights is not None
    explained = viewer.explained_at(tried.asked.caller, why.name) if why and has_rights else ""
    return Side(label, tried, rows, why, explained)


def _mend_for_reader(viewer: _Viewer, tried: SelectionPreview, item: Selected) -> MendLink | None:
    if tried.asked.caller.user_id == viewer.request.user.pk:
        return item.mend
    return mend_link(
        item.readiness,
        integration=item.integration,
        full_name=item.full_name,
        about_other=viewer.request.user.is_staff,
    )


def _why(viewer: _Viewer, tried: SelectionPreview) -> WhyNot | None:
    name = viewer.form.cleaned_data["why"].strip()
    if not name:
        return None
    by_admin = viewer.request.user.is_staff
    return why_not(request=tried.asked, selection=tried.selection, name=name, by_admin=by_admin)


def explain_address(username: str, caller: Caller, full_name: str) -> str:
    """Return the URL of the page that explains a right to admins."""
    parameters: dict[str, str | int] = {"user": username, "group": caller.group_id}
    if caller.space_id:
        parameters["space"] = caller.space_id
    return f"{reverse('access-explain')}?{urlencode({**parameters, 'capability': full_name})}"


def _quoted(text: str) -> str:
    return text if len(text) <= LONGEST_QUOTE else f"{text[: LONGEST_QUOTE - 1]}…"
