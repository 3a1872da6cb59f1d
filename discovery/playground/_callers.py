"""Callers of the playground: admins may choose any user, others their own groups and spaces."""

from dataclasses import dataclass, replace

from django import forms
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from acl.audit.recorder import record_look
from acl.models import Space
from acl.rights.caller_lookup import Caller, CallerRefused, caller_for
from acl.web.frame import Frame, PageRequest
from catalog.access.pages.my_tools import KINDS
from discovery.answer.formats.registry import FORMATS
from discovery.select.selection import SelectRequest

# The playground's form. All of its fields are in the URL, so that a request can be shared.

OUTPUTS = [
    ("", gettext_lazy("Request")),
    ("prompt", gettext_lazy("Prompt")),
    ("tiers", gettext_lazy("Tiers")),
    *((name, module.LABEL) for name, module in FORMATS.items()),
]
GRAPH = [("", gettext_lazy("Used")), ("off", gettext_lazy("Ignored"))]
COMPARED = [
    ("", gettext_lazy("None")),
    ("settings", gettext_lazy("Other settings")),
    ("caller", gettext_lazy("Another user")),
]
AS_BEFORE = ("", gettext_lazy("Same"))
# Fields of the caller, and of the second caller to compare with.
CALLER, OTHER_CALLER = ("user", "group", "space"), ("vs_user", "vs_group", "vs_space")
LONGEST_NAME = 200


class PlaygroundForm(forms.Form):
    """A message with its settings; the `vs` fields are those of the second answer."""

    message = forms.CharField(required=False)
    history = forms.CharField(required=False)
    max_tools = forms.IntegerField(required=False, min_value=1, max_value=100)
    kind = forms.ChoiceField(required=False, choices=KINDS)
    graph = forms.ChoiceField(required=False, choices=GRAPH)
    output = forms.ChoiceField(required=False, choices=OUTPUTS)
    user = forms.CharField(required=False, max_length=150)
    group = forms.CharField(required=False, max_length=150)
    space = forms.CharField(required=False, max_length=60)
    why = forms.CharField(required=False, max_length=LONGEST_NAME)
    vs = forms.ChoiceField(required=False, choices=COMPARED)
    vs_max_tools = forms.IntegerField(required=False, min_value=1, max_value=100)
    vs_kind = forms.ChoiceField(
        required=False, choices=[AS_BEFORE, ("any", gettext_lazy("All kinds")), *KINDS[1:]]
    )
    vs_graph = forms.ChoiceField(
        required=False, choices=[AS_BEFORE, ("on", gettext_lazy("Used")), GRAPH[1]]
    )
    vs_history = forms.ChoiceField(
        required=False, choices=[AS_BEFORE, ("off", gettext_lazy("Ignored"))]
    )
    vs_user = forms.CharField(required=False, max_length=150)
    vs_group = forms.CharField(required=False, max_length=150)
    vs_space = forms.CharField(required=False, max_length=60)

    def has_message(self) -> bool:
        """Return True if the form is valid and has a message."""
        return self.is_valid() and bool(self.cleaned_data["message"].strip())

    def history_lines(self) -> tuple[str, ...]:
        """Return the earlier messages, oldest first."""
        lines = str(self.cleaned_data["history"]).splitlines()
        return tuple(line.strip() for line in lines if line.strip())

    def selection_request(self, caller: Caller) -> SelectRequest:
        """Build the selection request."""
        data = self.cleaned_data
        return SelectRequest(
            message=data["message"],
            caller=caller,
            history=self.history_lines(),
            max_tools=data["max_tools"] or settings.PEGBOARD_MAX_TOOLS,
            kind=data["kind"] or "any",
            use_graph=data["graph"] != "off",
        )

    def second_request(self, request: SelectRequest) -> SelectRequest:
        """Build the selection request with the second answer's settings."""
        data = self.cleaned_data
        graph = {"": request.use_graph, "on": True, "off": False}[data["vs_graph"]]
        return replace(
            request,
            history=() if data["vs_history"] == "off" else request.history,
            max_tools=data["vs_max_tools"] or request.max_tools,
            kind=data["vs_kind"] or request.kind,
            use_graph=graph,
        )


MOST_PEOPLE = 30
NOT_THERE = gettext_lazy("No active user of this name is in this group and space.")
NOT_YOURS = gettext_lazy("You are not in this group or space.")


@dataclass(frozen=True, slots=True)
class Choices:
    """Suggested people, and the groups and spaces of the chosen one."""

    people: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    spaces: tuple[str, ...] = ()


def read_fields(request: PageRequest) -> QueryDict:
    """Return the submitted fields, without those that name a caller unless the viewer is staff."""
    fields = (request.POST if request.method == "POST" else request.GET).copy()
    # A shared link that names a caller runs as the person who opens it.
    if not request.user.is_staff:
        for name in (*CALLER, "vs_user"):
            fields.pop(name, None)
    return fields


def find_caller(request: PageRequest, form: PlaygroundForm, frame: Frame) -> Caller | None:
    """Return the caller of the answer; an unknown one becomes an error of the form."""
    if not form.is_valid():
        return frame.caller
    names = _named(form, CALLER)
    if not any(names.values()):
        if frame.caller is None and form.cleaned_data["message"]:
            form.add_error("user", _("You are not in a group. Choose a user."))
        return frame.caller
    return _resolve(request, form, frame, names, "user")


def find_other_caller(request: PageRequest, form: PlaygroundForm, frame: Frame) -> Caller | None:
    """Return the caller of the second answer."""
    names = _named(form, OTHER_CALLER)
    if not any(names.values()):
        return frame.caller
    return _resolve(request, form, frame, names, "vs_user")


def list_choices(request: PageRequest, form: PlaygroundForm) -> Choices | None:
    """Return an admin's choices; None for everyone else."""
    return _choices(form, CALLER) if request.user.is_staff else None


def list_other_choices(request: PageRequest, form: PlaygroundForm, frame: Frame) -> Choices:
    """Return the choices for the second answer; people who are not staff have their own groups."""
    if form.data.get("vs") != "caller":
        return Choices()
    if request.user.is_staff:
        return _choices(form, OTHER_CALLER)
    own_groups = tuple(group.name for group in frame.groups)
    chosen = form.data.get("vs_group") or (frame.group.name if frame.group else "")
    return Choices((), own_groups, _spaces(chosen) if chosen in own_groups else ())


def find_people(typed: str) -> tuple[str, ...]:
    """Return the first active users whose name contains the text."""
    people = User.objects.filter(is_active=True, username__icontains=typed).order_by("username")
    return tuple(people.values_list("username", flat=True)[:MOST_PEOPLE])


def describe_caller(
    request: PageRequest, form: PlaygroundForm, caller: Caller, *, is_other: bool
) -> str:
    """Describe a caller by name, group and space."""
    user, _group, space = OTHER_CALLER if is_other else CALLER
    who = form.cleaned_data[user]
    values = {
        "name": _("You") if who in {"", request.user.get_username()} else who,
        "group": Group.objects.get(pk=caller.group_id).name,
        "space": form.cleaned_data[space] if caller.space_id else "",
    }
    if values["space"]:
        return _("%(name)s in %(group)s, %(space)s") % values
    return _("%(name)s in %(group)s") % values


def _named(form: PlaygroundForm, fields: tuple[str, ...]) -> dict[str, str | None]:
    return {
        name: form.cleaned_data[field] or None for name, field in zip(CALLER, fields, strict=True)
    }


def _resolve(
    request: PageRequest,
    form: PlaygroundForm,
    frame: Frame,
    names: dict[str, str | None],
    field: str,
) -> Caller | None:
    usual = frame.group.name if frame.group else None
    try:
        caller = caller_for(request.user, **names, usual_group=usual)
    except CallerRefused:
        form.add_error(field, NOT_THERE if request.user.is_staff else NOT_YOURS)
        return None
    name = names["user"] or request.user.get_username()
    record_look(by=request.user, subject=caller.user_id, name=name, kind="playground")
    return caller


def _choices(form: PlaygroundForm, fields: tuple[str, str, str]) -> Choices:
    name, group = (form.data.get(field, "") for field in fields[:2])
    if not name:
        return Choices(find_people(""))
    groups = Group.objects.filter(user__username=name).order_by("name")
    return Choices(
        find_people(name),
        tuple(groups.values_list("name", flat=True)),
        _spaces(group) if group else (),
    )


def _spaces(group: str) -> tuple[str, ...]:
    spaces = Space.objects.filter(group__name=group, parent__isnull=False).order_by("slug")
    return tuple(spaces.values_list("slug", flat=True))
