"""Forms of the pages of runtime capabilities."""

from django import forms
from django.contrib.auth.models import Group
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy

from catalog.models import RuntimeCapability

SHOWN = [
    ("", gettext_lazy("Any status")),
    ("proposed", gettext_lazy("Proposed")),
    ("tried", gettext_lazy("Tried")),
    ("approved", gettext_lazy("Approved")),
    ("promoted", gettext_lazy("Promoted")),
    ("expired", gettext_lazy("Expired")),
    ("retired", gettext_lazy("Retired")),
]


class RuntimeListForm(forms.Form):
    """Filters of the list. Invalid query values are ignored."""

    q = forms.CharField(required=False, max_length=200)
    show = forms.ChoiceField(required=False, choices=SHOWN)
    group = forms.CharField(required=False, max_length=150)
    page = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)

    def narrow(self, rows: QuerySet[RuntimeCapability]) -> QuerySet[RuntimeCapability]:
        """Return the rows that match."""
        self.full_clean()
        data = self.cleaned_data
        for word in data.get("q", "").split()[:8]:
            rows = rows.filter(Q(full_name__icontains=word) | Q(owner__username__icontains=word))
        if data.get("show"):
            rows = rows.filter(Q(status=data["show"]))
        return rows.filter(group__name=data["group"]) if data.get("group") else rows

    @property
    def is_filtered(self) -> bool:
        """Return True if any filter is set."""
        return any(self.cleaned_data.get(name) for name in ("q", "show", "group"))


class PromoteForm(forms.Form):
    """Further groups that get a capability."""

    groups = forms.ModelMultipleChoiceField(
        queryset=Group.objects.none(),
        error_messages={
            "required": gettext_lazy("Choose at least one group."),
            "invalid_choice": gettext_lazy("One of these groups no longer exists."),
            "invalid_pk_value": gettext_lazy("One of these groups no longer exists."),
        },
    )

    def __init__(self, *args: object, row: RuntimeCapability) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        groups = Group.objects.exclude(pk=row.group_id).order_by("name")
        self.fields["groups"].queryset = groups  # type: ignore[attr-defined]
