"""Forms of the Access pages."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, get_args

from django import forms
from django.contrib.auth.models import Group, User
from django.db.models import Model
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from acl.models import Space
from catalog.access._grant_matrix import MatrixWindow
from catalog.access.change_preview import Change, Verb
from catalog.models import Capability, Integration, Rule

# Text forms of changes: lines carried by forms, and sentences.
#
# A line is `verb|subject|target|space|effect`: a subject is `group-3` or `user-4`, a target
# `integration-5` or `capability-6`, a space `space-7`, an effect its number. Lines that name
# deleted objects are ignored.

MOST_CHANGES = 5_000
REVERSE: dict[Verb, Verb] = {
    "grant": "revoke",
    "revoke": "grant",
    "rule": "unrule",
    "unrule": "rule",
    "open": "close",
    "close": "open",
    "restrict": "unrestrict",
    "unrestrict": "restrict",
}
_RULE_SENTENCES = {
    ("rule", Rule.Effect.DENY): gettext_lazy("In %(place)s: deny %(what)s for %(whom)s"),
    ("rule", Rule.Effect.PROPOSE): gettext_lazy("In %(place)s: %(what)s asks first for %(whom)s"),
    ("rule", Rule.Effect.ALLOW): gettext_lazy("In %(place)s: allow %(what)s for %(whom)s"),
    ("unrule", Rule.Effect.DENY): gettext_lazy(
        "No longer in %(place)s: deny %(what)s for %(whom)s"
    ),
    ("unrule", Rule.Effect.PROPOSE): gettext_lazy(
        "No longer in %(place)s: %(what)s asks first for %(whom)s"
    ),
    ("unrule", Rule.Effect.ALLOW): gettext_lazy(
        "No longer in %(place)s: allow %(what)s for %(whom)s"
    ),
}
_KINDS: dict[str, Any] = {
    "group": Group.objects,
    "user": User.objects,
    "integration": Integration.objects,
    "capability": Capability.objects.select_related("integration"),
    "space": Space.objects.select_related("group"),
}


def write_changes(changes: Iterable[Change]) -> str:
    """Serialize changes as lines."""
    return "\n".join(dict.fromkeys(map(write_change, changes)))


def write_change(change: Change) -> str:
    """Serialize one change."""
    things = (change.user or change.group, change.target, change.space)
    effect = "" if change.effect is None else str(int(change.effect))
    return "|".join([change.verb, *map(reference, things), effect])


def reference(thing: Model | None) -> str:
    """Return a reference such as `integration-5`, or ""."""
    return f"{thing._meta.model_name}-{thing.pk}" if thing is not None else ""


def read_changes(text: str) -> list[Change]:
    """Parse changes, with at most five statements."""
    lines = [line.strip().split("|") for line in dict.fromkeys(text.splitlines())]
    whole = [line for line in lines if len(line) == 5 and line[0] in get_args(Verb)]
    whole = whole[:MOST_CHANGES]
    things = find_things(name for line in whole for name in line[1:4])
    return [
        _build_change(line, things)
        for line in whole
        if all(name in things for name in line[1:4] if name)
    ]


def find_things(names: Iterable[str]) -> dict[str, Model]:
    """Return the existing objects by reference."""
    keys_by_kind: dict[str, set[int]] = defaultdict(set)
    for name in names:
        kind, key = name.partition("-")[::2]
        if kind in _KINDS and key.isdecimal() and len(key) < 10:
            keys_by_kind[kind].add(int(key))
    things = (
        thing for kind, keys in keys_by_kind.items() for thing in _KINDS[kind].filter(pk__in=keys)
    )
    return {reference(thing): thing for thing in things}


def reversed_changes(changes: Sequence[Change]) -> list[Change]:
    """Return the changes that undo these."""
    return [
        Change(
            verb=REVERSE[change.verb],
            target=change.target,
            user=change.user,
            group=change.group,
            space=change.space,
            effect=change.effect,
        )
        for change in reversed(changes)
    ]


def sentence(change: Change) -> str:
    """Describe a change in a sentence."""
    whom = change.user or change.group or _("everyone")
    names = {"what": title(change.target), "whom": whom}
    match change.verb:
        case "grant":
            return _("Grant %(what)s to %(whom)s") % names
        case "revoke":
            return _("Revoke %(what)s from %(whom)s") % names
        case "open":
            return _("Allow %(whom)s everything that is not restricted") % names
        case "close":
            return _("Allow %(whom)s only what is granted") % names
        case "restrict":
            return _("Restrict %(what)s: open groups no longer have it by default") % names
        case "unrestrict":
            return _("Allow %(what)s by default in open groups") % names
    effect = Rule.Effect.ALLOW if change.effect is None else change.effect
    space = change.space
    return str(_RULE_SENTENCES[change.verb, effect]) % {
        **names,
        "place": ""
        if space is None
        else _("%(space)s of %(group)s") % {"space": space.name, "group": space.group.name},
    }


def title(target: Model | None) -> str:
    """Return an integration's title or a capability's full name."""
    return target.title if isinstance(target, Integration) else str(target or "")


def _build_change(line: list[str], things: dict[str, Model]) -> Change:
    verb, whom, what, where, effect = line
    subject, target, space = (things.get(name) for name in (whom, what, where))
    return Change(
        verb=verb,  # type: ignore[arg-type]
        target=target if isinstance(target, (Integration, Capability)) else None,
        user=subject if isinstance(subject, User) else None,
        group=subject if isinstance(subject, Group) else None,
        space=space if isinstance(space, Space) else None,
        effect=Rule.Effect(int(effect)) if effect in {"0", "1", "2"} else None,
    )


SHOWN = [
    ("", gettext_lazy("All integrations")),
    ("given", gettext_lazy("Granted to a group")),
    ("nobody", gettext_lazy("Granted to no group")),
    ("restricted", gettext_lazy("Restricted")),
    ("off", gettext_lazy("Disabled or not approved")),
]
EFFECTS = [
    (str(Rule.Effect.ALLOW.value), gettext_lazy("Allow")),
    (str(Rule.Effect.PROPOSE.value), gettext_lazy("Ask first")),
    (str(Rule.Effect.DENY.value), gettext_lazy("Deny")),
]
WHOM = [
    ("everyone", gettext_lazy("Everyone")),
    ("user", gettext_lazy("One person")),
    ("group", gettext_lazy("A group")),
]
PAGE: dict[str, Any] = {"required": False, "min_value": 1, "max_value": 1_000_000}


class MatrixForm(forms.Form):
    """The window of the matrix. Invalid query values are ignored."""

    q = forms.CharField(required=False, max_length=200)
    groups = forms.CharField(required=False, max_length=200)
    show = forms.ChoiceField(required=False, choices=SHOWN)
    page = forms.IntegerField(**PAGE)
    column = forms.IntegerField(**PAGE)
    group = forms.IntegerField(**PAGE)

    def window(self) -> MatrixWindow:
        """Return the window for the service."""
        self.full_clean()
        data = self.cleaned_data
        return MatrixWindow(
            words=data.get("q", ""),
            group_words=data.get("groups", ""),
            show=data.get("show", ""),
            page=data.get("page") or 1,
            column=data.get("column") or 1,
            group=data.get("group"),
        )


class SearchForm(forms.Form):
    """Search words and a page number."""

    q = forms.CharField(required=False, max_length=200)
    page = forms.IntegerField(**PAGE)

    def words(self) -> str:
        self.full_clean()
        return str(self.cleaned_data.get("q", ""))

    def page_number(self) -> int:
        self.full_clean()
        return int(self.cleaned_data.get("page") or 1)


class SpaceForm(forms.Form):
    """The name and parent of a space."""

    name = forms.CharField(
        max_length=120, error_messages={"required": gettext_lazy("Enter a name.")}
    )
    parent = forms.ModelChoiceField(queryset=Space.objects.none())

    def __init__(self, *args: Any, group: Group, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        parents = Space.objects.filter(group=group)
        self.fields["parent"] = forms.ModelChoiceField(
            queryset=parents, error_messages={"required": gettext_lazy("Choose the parent space.")}
        )


class TargetForm(forms.Form):
    """An integration or capability chosen from search results."""

    target = forms.CharField(
        max_length=40,
        error_messages={"required": gettext_lazy("Choose an integration or a tool.")},
    )

    def clean_target(self) -> Integration | Capability:
        """Return the chosen object."""
        name = self.cleaned_data["target"]
        thing = find_things([name]).get(name)
        if not isinstance(thing, (Integration, Capability)):
            raise forms.ValidationError(_("This no longer exists. Choose another one."))
        return thing


class RuleForm(TargetForm):
    """A rule: effect, subject and target."""

    effect = forms.TypedChoiceField(
        choices=EFFECTS,
        coerce=lambda value: Rule.Effect(int(value)),
        error_messages={"required": gettext_lazy("Choose an effect.")},
    )
    whom = forms.ChoiceField(choices=WHOM)
    person = forms.CharField(required=False, max_length=150)
    role = forms.ModelChoiceField(required=False, queryset=Group.objects.order_by("name", "pk"))

    def clean(self) -> dict[str, Any]:
        """Set at most one of `user` and `group`."""
        data: dict[str, Any] = self.cleaned_data
        data["user"] = data["group"] = None
        if data.get("whom") == "user":
            data["user"] = User.objects.filter(username=data.get("person") or "").first()
            if data["user"] is None:
                self.add_error("person", _("No user has this name."))
        if data.get("whom") == "group":
            data["group"] = data.get("role")
            if data["group"] is None and "role" not in self.errors:
                self.add_error("role", _("Choose a group."))
        return data

    def change(self, space: Space) -> Change:
        """Return the change that creates the rule in `space`."""
        data = self.cleaned_data
        return Change(
            verb="rule",
            target=data["target"],
            user=data["user"],
            group=data["group"],
            space=space,
            effect=data["effect"],
        )


class AnswerForm(forms.Form):
    """A declined request, with the reason."""

    note = forms.CharField(
        max_length=500, error_messages={"required": gettext_lazy("Enter a reason.")}
    )


class GrantForm(TargetForm):
    """A granted request: target, recipient and note."""

    whom = forms.ChoiceField(
        choices=[("user", gettext_lazy("The person")), ("group", gettext_lazy("Their group"))],
        error_messages={"required": gettext_lazy("Choose a person or the group.")},
    )
    note = forms.CharField(required=False, max_length=500)


class ExplainForm(forms.Form):
    """The query of Explain: person, group, space and capability."""

    user = forms.CharField(required=False, max_length=150)
    group = forms.IntegerField(required=False)
    space = forms.IntegerField(required=False)
    application = forms.IntegerField(required=False)
    capability = forms.CharField(required=False, max_length=64)
