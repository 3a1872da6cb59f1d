"""Pages of runtime capabilities: the list for everyone, and decisions for admins."""

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import Group
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods

from acl.web.frame import PageRequest, admins_only, frame_of, part_of, render_page
from catalog.capabilities import runtime_state
from catalog.models import RuntimeCapability
from catalog.runtime import service
from catalog.runtime.service import RuntimeEntry

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


PAGE = 50
_DONE = {
    "approve": gettext_lazy("%(name)s was approved."),
    "promote": gettext_lazy("%(name)s was promoted."),
    "retire": gettext_lazy("%(name)s was retired."),
}
_CHANGED = gettext_lazy(
    "It has changed in the meantime, or no decision is possible any more. Check it again."
)


@login_required
@require_GET
def runtime_tools(request: PageRequest) -> HttpResponse:
    """List what was made at runtime: all of it for admins, else what the viewer may see."""
    frame = frame_of(request)
    if request.user.is_staff:
        rows = service.list_all()
    elif frame.caller is None:
        nowhere = {"title": _("Tools made at runtime")}
        return render_page(request, "no_group.html", nowhere, frame=frame)
    else:
        rows = service.list_visible(frame.caller)
    form = RuntimeListForm(request.GET)
    paginator = Paginator(form.narrow(rows), PAGE)
    page = paginator.get_page(form.cleaned_data.get("page"))
    groups = Group.objects.order_by("name").values_list("name", flat=True)
    context = {
        "form": form,
        "shown": SHOWN,
        "groups": groups if request.user.is_staff else [],
        "entries": service.read_entries(page.object_list),
        "count": paginator.count,
        "found": {"page": page.number, "pages": paginator.num_pages},
    }
    return render_page(
        request, part_of(request, "runtime/list.html", "found"), context, frame=frame
    )


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def decide(request: PageRequest, full_name: str, decision: str) -> HttpResponse:
    """Show the definition and ask; then approve, promote or retire it."""
    if decision not in _DONE:
        raise Http404
    row = get_object_or_404(service.list_all(), full_name=full_name)
    form = PromoteForm(request.POST if request.method == "POST" else None, row=row)
    problem = ""
    if request.method == "POST" and (decision != "promote" or form.is_valid()):
        try:
            _carry_out(request, service.read_entry(row), decision, form)
        except runtime_state.WrongStateError:
            problem = str(_CHANGED)
        else:
            messages.success(request, _DONE[decision] % {"name": full_name})
            return redirect("runtime-tools")
    wrong = decision == "promote" and bool(form.errors)
    context = {
        "entry": service.read_entry(row),
        "decision": decision,
        "form": form,
        "problem": problem,
    }
    status = 409 if problem else 422 if wrong else 200
    template = "runtime/decide.html"
    return render_page(request, template, context, frame=frame_of(request), status=status)


def _carry_out(request: PageRequest, entry: RuntimeEntry, decision: str, form: PromoteForm) -> None:
    if decision == "approve":
        digest = request.POST.get("seen", "")
        runtime_state.approve(by=request.user, row=entry.row, seen=digest)
    elif decision == "promote":
        groups = form.cleaned_data["groups"]
        runtime_state.promote(by=request.user, row=entry.row, groups=groups)
    elif not runtime_state.retire(by=request.user, row=entry.row, withdrawn=True):
        raise runtime_state.WrongStateError
