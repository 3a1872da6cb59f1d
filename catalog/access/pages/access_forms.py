"""Forms of the Access pages."""

from typing import Any

from django import forms
from django.contrib.auth.models import Group, User
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from acl.models import Space
from catalog.access._grant_matrix import MatrixWindow
from catalog.access.change_preview import Change
from catalog.access.pages.change_text import find_things
from catalog.models import Capability, Integration, Rule

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
    capability = forms.CharField(required=False, max_length=64)
